// RegionGraph: the nearest-neighbour index over the regions of all images.
#pragma once

#include "millrace/base/result.h"
#include "similar/regions/region_features.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace millrace::similar {

// A hierarchical navigable small world graph (Malkov and Yashunin, IEEE TPAMI 42(4), 2020) by hnswlib, with
// Euclidean distance. Regions are numbered 0, 1, ... as they are added; the same regions in the same order
// give the same graph and the same answers.
//
// nearest() may be called by several threads at once, not beside add().
class RegionGraph {
 public:
  // What there is to know of a region besides its features: the regions it is joined to, on each level from 0
  // up. Every level has at least that list, though it may be empty.
  struct Node {
    std::vector<std::vector<std::uint32_t>> links;
    bool operator==(const Node&) const = default;
  };

  static constexpr std::size_t most_regions = std::size_t{1} << 30;

  RegionGraph();
  ~RegionGraph();
  RegionGraph(RegionGraph&&) noexcept;
  RegionGraph& operator=(RegionGraph&&) noexcept;

  // Failure when there is no memory for it, or already most_regions.
  [[nodiscard]] Status add(const Features& features);
  [[nodiscard]] std::size_t size() const;

  // The `count` regions nearest to `features` that the graph finds, or all if there are fewer; which of those
  // at equal distances is unspecified but always the same. In no order.
  [[nodiscard]] std::vector<std::uint32_t> nearest(const Features& features, std::size_t count) const;

  // number < size().
  [[nodiscard]] Node node(std::size_t number) const;

  // The graph with these regions and nodes, one of each for a region. Failure that names the region where the
  // nodes are not a graph: a level or list too long, a link to itself, to no region, or to one that is not
  // on that level.
  [[nodiscard]] static Result<RegionGraph> restored(std::span<const Features> features,
                                                    std::span<const Node> nodes);

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;
};

}  // namespace millrace::similar
