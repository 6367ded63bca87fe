// RegionGraph: the nearest-neighbour index over the regions of all images.
#pragma once

#include "millrace/base/error/result.h"
#include "similar/regions/region_features.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace millrace::similar {

// A hierarchical navigable small world graph (Malkov and Yashunin, IEEE TPAMI 42(4), 2020) by hnswlib, with
// Euclidean distance. Regions are numbered 0, 1, ... in the order of their addition. The same regions in the
// same order give the same graph and the same answers.
//
// Several threads may call nearest() at the same time, but not during add().
class RegionGraph {
 public:
  // A region's links to other regions, for each level from 0 up. Every level has a list, which can be empty.
  struct Node {
    std::vector<std::vector<std::uint32_t>> links;
    bool operator==(const Node&) const = default;
  };

  static constexpr std::size_t most_regions = std::size_t{1} << 30;

  RegionGraph();
  ~RegionGraph();
  RegionGraph(RegionGraph&&) noexcept;
  RegionGraph& operator=(RegionGraph&&) noexcept;

  // Failure if memory runs out or there are already most_regions.
  [[nodiscard]] Status add(const Features& features);
  [[nodiscard]] std::size_t size() const;

  // The `count` regions that the graph finds nearest to `features`, or all if there are fewer, in no
  // particular order. The choice among equal distances is unspecified but deterministic.
  [[nodiscard]] std::vector<std::uint32_t> nearest(const Features& features, std::size_t count) const;

  // number < size().
  [[nodiscard]] Node node(std::size_t number) const;

  // Rebuilds a graph from its regions and nodes, one node per region. A failure names the region if the nodes
  // are not a valid graph: too many levels or links, a link to itself, to a missing region, or to one that is
  // not on that level.
  [[nodiscard]] static Result<RegionGraph> restored(std::span<const Features> features,
                                                    std::span<const Node> nodes);

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;
};

}  // namespace millrace::similar
