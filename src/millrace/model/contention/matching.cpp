#include "millrace/model/contention/matching.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <lemon/matching.h>
#include <lemon/smart_graph.h>

namespace millrace::model {

std::vector<std::pair<std::size_t, std::size_t>>
cheapest_pairs(std::size_t count, const std::function<double(std::size_t, std::size_t)>& cost) {
  using Graph = lemon::SmartGraph;
  constexpr double steps = 1e6;
  std::vector<double> costs;
  costs.reserve(count * count / 2);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = i + 1; j < count; ++j)
      costs.push_back(cost(i, j));
  const double most = costs.empty() ? 0 : *std::max_element(costs.begin(), costs.end());

  Graph graph;
  graph.reserveNode(static_cast<int>(count));
  for (std::size_t i = 0; i < count; ++i)
    graph.addNode();
  Graph::EdgeMap<std::int64_t> weights(graph);
  auto next = costs.begin();
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = i + 1; j < count; ++j, ++next) {
      const double rounded = most > 0 ? std::round((1 - *next / most) * steps) : 0;
      weights[graph.addEdge(Graph::nodeFromId(static_cast<int>(i)), Graph::nodeFromId(static_cast<int>(j)))] =
          static_cast<std::int64_t>(rounded);
    }
  lemon::MaxWeightedPerfectMatching<Graph, Graph::EdgeMap<std::int64_t>> matching(graph, weights);
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  if (!matching.run()) return pairs;  // only fails for an odd number
  for (std::size_t i = 0; i < count; ++i) {
    const auto mate =
        static_cast<std::size_t>(Graph::id(matching.mate(Graph::nodeFromId(static_cast<int>(i)))));
    if (i < mate) pairs.emplace_back(i, mate);
  }
  return pairs;
}

}  // namespace millrace::model
