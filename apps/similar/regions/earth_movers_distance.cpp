#include "similar/regions/earth_movers_distance.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include <lemon/network_simplex.h>
#include <lemon/smart_graph.h>

namespace millrace::similar {
namespace {

using Graph = lemon::SmartDigraph;

constexpr std::int64_t whole_weight = std::int64_t{1} << 30;
constexpr double distance_unit = 1 << 20;

// Integers proportional to the weights that sum to whole_weight: rounded down, then the rest goes to the
// largest remainders.
std::vector<std::int64_t> whole_weights(std::span<const Region> regions) {
  double sum = 0;
  for (const Region& region : regions)
    sum += static_cast<double>(region.weight);
  std::vector<std::int64_t> whole;
  std::vector<double> remainders;
  for (const Region& region : regions) {
    const double exact = static_cast<double>(region.weight) / sum * static_cast<double>(whole_weight);
    whole.push_back(static_cast<std::int64_t>(exact));
    remainders.push_back(exact - std::floor(exact));
  }
  std::vector<std::size_t> order(regions.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t i, std::size_t j) {
    return remainders[i] > remainders[j] || (remainders[i] == remainders[j] && i < j);
  });
  // At most one for each, except for rounding in `sum`.
  std::int64_t missing = whole_weight - std::accumulate(whole.begin(), whole.end(), std::int64_t{0});
  for (std::size_t i = 0; missing > 0; i = (i + 1) % order.size(), --missing)
    ++whole[order[i]];
  return whole;
}

}  // namespace

double earth_movers_distance(std::span<const Region> a, std::span<const Region> b) {
  const std::vector<std::int64_t> supply = whole_weights(a);
  const std::vector<std::int64_t> demand = whole_weights(b);
  Graph graph;
  graph.reserveNode(static_cast<int>(a.size() + b.size()));
  graph.reserveArc(static_cast<int>(a.size() * b.size()));
  for (std::size_t i = 0; i < a.size() + b.size(); ++i)
    graph.addNode();
  Graph::NodeMap<std::int64_t> supplies(graph);
  for (std::size_t i = 0; i < a.size(); ++i)
    supplies[Graph::nodeFromId(static_cast<int>(i))] = supply[i];
  for (std::size_t j = 0; j < b.size(); ++j)
    supplies[Graph::nodeFromId(static_cast<int>(a.size() + j))] = -demand[j];
  std::vector<std::int64_t> prices;
  prices.reserve(a.size() * b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      graph.addArc(Graph::nodeFromId(static_cast<int>(i)), Graph::nodeFromId(static_cast<int>(a.size() + j)));
      prices.push_back(std::llround(distance(a[i].features, b[j].features) * distance_unit));
    }
  }
  Graph::ArcMap<std::int64_t> costs(graph);
  for (std::size_t arc = 0; arc < prices.size(); ++arc)
    costs[Graph::arcFromId(static_cast<int>(arc))] = prices[arc];

  // Supplies equal demands and every pair has an arc without a capacity, so an optimum always exists.
  lemon::NetworkSimplex<Graph, std::int64_t, std::int64_t> simplex(graph);
  simplex.costMap(costs).supplyMap(supplies).run();
  return static_cast<double>(simplex.totalCost()) / (distance_unit * static_cast<double>(whole_weight));
}

Features centroid(std::span<const Region> regions) {
  std::array<double, feature_count> sums{};
  for (const Region& region : regions)
    for (std::size_t i = 0; i < feature_count; ++i)
      sums[i] += static_cast<double>(region.weight) * static_cast<double>(region.features[i]);
  Features mean{};
  for (std::size_t i = 0; i < feature_count; ++i)
    mean[i] = static_cast<float>(sums[i]);
  return mean;
}

}  // namespace millrace::similar
