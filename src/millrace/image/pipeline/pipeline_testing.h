// Helpers for tests of pipelines: text that must parse, readable failures, random graphs for property tests.
#pragma once

#include "millrace/image/filters/named_filters.h"
#include "millrace/image/pipeline/pipeline.h"
#include "millrace/image/pipeline/pipeline_language.h"

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <random>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::image {

// Tells GoogleTest how to print a pipeline.
// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest looks for this name.
inline void PrintTo(const Pipeline& pipeline, std::ostream* stream) {
  *stream << (pipeline.nodes.empty() ? "no pipeline" : to_string(pipeline));
}

}  // namespace millrace::image

namespace millrace::image {

// Returns the value. On an error the test fails with its message and continues with an empty pipeline.
inline Pipeline must(const Result<Pipeline>& pipeline) {
  if (pipeline) return *pipeline;
  ADD_FAILURE() << pipeline.error().message;
  return {};
}

inline Pipeline parsed(std::string_view text) { return must(parse_pipeline(text)); }

using Random = std::mt19937_64;

inline std::size_t below(Random& random, std::size_t limit) {
  return static_cast<std::size_t>(random() % limit);
}

// Often an end of the range, the default or a round number, which writers omit or shorten.
inline double random_value(Random& random, const Parameter& parameter) {
  if (parameter.type == ParameterType::choice)
    return static_cast<double>(below(random, parameter.choices.size()));
  std::uniform_real_distribution<double> within(parameter.minimum, parameter.maximum);
  double value = within(random);
  switch (below(random, 5)) {
  case 0:
    value = parameter.minimum;
    break;
  case 1:
    value = parameter.maximum;
    break;
  case 2:
    if (!parameter.required) value = parameter.fallback;
    break;
  case 3:
    value = parameter.minimum + (parameter.maximum - parameter.minimum) / 8;
    break;
  default:
    break;
  }
  return parameter.type == ParameterType::integer ? static_cast<double>(static_cast<long>(value)) : value;
}

inline Node random_node(Random& random, int inputs) {
  std::vector<const Filter*> fitting;
  for (const Filter& filter : all_filters()) {
    if (filter.inputs == inputs) fitting.push_back(&filter);
  }
  Node node{.filter = fitting[below(random, fitting.size())], .values = {}, .inputs = {}};
  for (const Parameter& parameter : node.filter->parameters) {
    const bool is_list = parameter.type == ParameterType::list;
    const std::size_t lengths = std::min<std::size_t>(5, parameter.most - parameter.least + 1);
    const std::size_t count = is_list ? parameter.least + below(random, lengths) : 1;
    for (std::size_t i = 0; i < count; ++i)
      node.values.push_back(random_value(random, parameter));
  }
  return node;
}

// Any graph, in canonical order. Inputs are drawn from all earlier nodes, recent ones more often.
inline Pipeline random_graph(Random& random, std::size_t size) {
  Pipeline pipeline;
  for (std::size_t n = 0; n < size; ++n) {
    const int inputs = below(random, 3) == 0 ? 2 : 1;
    Node node = random_node(random, inputs);
    for (int i = 0; i < inputs; ++i) {
      const std::size_t reach = below(random, 4) == 0 ? n + 1 : std::min<std::size_t>(n + 1, 3);
      const bool second = below(random, 12) == 0;
      node.inputs.push_back(second ? Node::second
                                   : static_cast<int>(n) - 1 - static_cast<int>(below(random, reach)));
    }
    pipeline.nodes.push_back(std::move(node));
  }
  return canonical(pipeline);
}

// Appends stages that lead from `start`, with fan-outs down to `depth` levels and at least one stage unless
// `maybe_none`. Returns the last one. Generates exactly what the language can express: `second` does not
// occur again within a branch that begins with it.
inline int grow_chain(Random& random, Pipeline& pipeline, int start, int depth, bool maybe_none,
                      bool of_second = false) {
  int end = start;
  const std::size_t stages = below(random, 3) + (maybe_none ? 0 : 1);
  for (std::size_t s = 0; s < stages; ++s) {
    const bool fan_out = depth > 0 && below(random, 2) == 0;
    Node node = random_node(random, fan_out ? 2 : 1);
    for (int i = 0; i < node.filter->inputs; ++i) {
      const bool second = fan_out && i > 0 && !of_second && below(random, 6) == 0;
      node.inputs.push_back(fan_out ? grow_chain(random, pipeline, second ? Node::second : end, depth - 1,
                                                 true, of_second || second)
                                    : end);
    }
    pipeline.nodes.push_back(std::move(node));
    end = static_cast<int>(pipeline.nodes.size()) - 1;
  }
  return end;
}

inline Pipeline random_series_parallel(Random& random) {
  Pipeline pipeline;
  grow_chain(random, pipeline, Node::source, 3, false);
  return pipeline;
}

}  // namespace millrace::image
