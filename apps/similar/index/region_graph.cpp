#include "similar/index/region_graph.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <utility>

#include <hnswlib/hnswlib.h>

namespace millrace::similar {
namespace {

constexpr std::size_t links_per_level = 16;  // twice that on level 0
constexpr std::size_t construction_effort = 100;
constexpr std::size_t search_effort = 64;
constexpr std::size_t seed = 1;
constexpr std::size_t first_capacity = 1024;
// A level has about links_per_level times fewer regions than the one below.
constexpr std::size_t most_levels = 32;
// hnswlib stores a 64-bit number after each vector and 132 bytes of links. They are aligned if the vector has
// an odd number of elements; an additional 0 changes no distance.
constexpr std::size_t dimensions = feature_count | 1;
using Vector = std::array<float, dimensions>;

Vector vector_of(const Features& features) {
  Vector vector{};
  std::ranges::copy(features, vector.begin());
  return vector;
}

}  // namespace

// hnswlib's members are public. node() and restored() access them directly, because hnswlib can only
// serialise to a file and trusts what it reads from one.
struct RegionGraph::Graph {
  explicit Graph(std::size_t capacity) : hnsw(&space, capacity, links_per_level, construction_effort, seed) {
    hnsw.ef_ = search_effort;
  }
  [[nodiscard]] hnswlib::linklistsizeint* list(std::size_t region, std::size_t level) const {
    const auto id = static_cast<hnswlib::tableint>(region);
    return level == 0 ? hnsw.get_linklist0(id) : hnsw.get_linklist(id, static_cast<int>(level));
  }

  hnswlib::L2Space space{dimensions};
  hnswlib::HierarchicalNSW<float> hnsw;
};

RegionGraph::RegionGraph() : graph_(std::make_unique<Graph>(first_capacity)) {}
RegionGraph::~RegionGraph() = default;
RegionGraph::RegionGraph(RegionGraph&&) noexcept = default;
RegionGraph& RegionGraph::operator=(RegionGraph&&) noexcept = default;

Status RegionGraph::add(const Features& features) {
  auto& hnsw = graph_->hnsw;
  if (size() == most_regions) return failure("an index holds at most {} regions", most_regions);
  try {
    if (size() == hnsw.max_elements_) hnsw.resizeIndex(2 * size());
    hnsw.addPoint(vector_of(features).data(), size());
  } catch (const std::exception& error) {
    return failure("cannot index a region: {}", error.what());
  }
  return {};
}

std::size_t RegionGraph::size() const { return graph_->hnsw.cur_element_count; }

std::vector<std::uint32_t> RegionGraph::nearest(const Features& features, std::size_t count) const {
  std::vector<std::uint32_t> found;
  const Vector vector = vector_of(features);
  for (auto queue = graph_->hnsw.searchKnn(vector.data(), count); !queue.empty(); queue.pop())
    found.push_back(static_cast<std::uint32_t>(queue.top().second));
  return found;
}

RegionGraph::Node RegionGraph::node(std::size_t number) const {
  Node node;
  const auto levels = static_cast<std::size_t>(graph_->hnsw.element_levels_[number]) + 1;
  for (std::size_t level = 0; level < levels; ++level) {
    hnswlib::linklistsizeint* list = graph_->list(number, level);
    const std::size_t count = graph_->hnsw.getListCount(list);
    node.links.emplace_back(list + 1, list + 1 + count);
  }
  return node;
}

Result<RegionGraph> RegionGraph::restored(std::span<const Features> features, std::span<const Node> nodes) {
  if (features.size() != nodes.size())
    return failure("{} regions but {} nodes of their graph", features.size(), nodes.size());
  if (features.size() > most_regions) return failure("an index holds at most {} regions", most_regions);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto& links = nodes[i].links;
    if (links.empty() || links.size() > most_levels)
      return failure("region {} is on {} levels of the graph", i, links.size());
    for (std::size_t level = 0; level < links.size(); ++level) {
      if (links[level].size() > (level == 0 ? 2 * links_per_level : links_per_level))
        return failure("region {} has {} links on level {} of the graph", i, links[level].size(), level);
      for (const std::uint32_t to : links[level]) {
        if (to >= nodes.size() || to == i || nodes[to].links.size() <= level)
          return failure("region {} is linked to region {} on level {} of the graph", i, to, level);
      }
    }
  }

  RegionGraph result;
  try {
    result.graph_ = std::make_unique<Graph>(std::max(first_capacity, features.size()));
    auto& hnsw = result.graph_->hnsw;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto id = static_cast<hnswlib::tableint>(i);
      const std::size_t upper = nodes[i].links.size() - 1;
      std::memset(hnsw.get_linklist0(id), 0, hnsw.size_data_per_element_);
      std::memcpy(hnsw.getDataByInternalId(id), vector_of(features[i]).data(), sizeof(Vector));
      hnsw.setExternalLabel(id, i);
      hnsw.label_lookup_[i] = id;
      hnsw.element_levels_[i] = static_cast<int>(upper);
      if (upper > 0) {
        hnsw.linkLists_[i] = static_cast<char*>(std::calloc(upper, hnsw.size_links_per_element_));
        if (hnsw.linkLists_[i] == nullptr) {
          hnsw.element_levels_[i] = 0;
          return failure("no memory for the graph of {} regions", features.size());
        }
      }
      ++hnsw.cur_element_count;  // from here on the destructor frees the lists
      for (std::size_t level = 0; level <= upper; ++level) {
        const auto& links = nodes[i].links[level];
        hnswlib::linklistsizeint* list = result.graph_->list(i, level);
        hnsw.setListCount(list, static_cast<unsigned short>(links.size()));
        std::ranges::copy(links, list + 1);
      }
      // Searches start at the first region on the highest level, as if regions were added one by one.
      if (static_cast<int>(upper) > hnsw.maxlevel_) {
        hnsw.maxlevel_ = static_cast<int>(upper);
        hnsw.enterpoint_node_ = id;
      }
    }
  } catch (const std::exception& error) {
    return failure("cannot restore the graph of {} regions: {}", features.size(), error.what());
  }
  return result;
}

}  // namespace millrace::similar
