// Pipelines built without the parser, and pictures for them.
#pragma once

#include "millrace/image/filters/named_filters.h"
#include "millrace/image/pipeline/pipeline.h"
#include "millrace/image/reference/scalar_reference.h"

#include <initializer_list>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::image {

inline Node node(std::string_view filter, ParameterValues values = {},
                 std::vector<int> inputs = {Node::source}) {
  const Filter* found = find_filter(filter);
  if (found == nullptr) throw std::invalid_argument("no filter " + std::string(filter));
  return {.filter = found, .values = std::move(values), .inputs = std::move(inputs)};
}

struct Step {
  std::string_view filter;
  ParameterValues values = {};
};

// A chain of steps, each reading the previous one.
inline Pipeline chain(std::initializer_list<Step> steps) {
  Pipeline pipeline;
  int input = Node::source;
  for (const Step& step : steps) {
    pipeline.nodes.push_back(node(step.filter, step.values, {input}));
    ++input;
  }
  return pipeline;
}

// The pipelines of the paper's table III, 'A' to 'G'.
inline Pipeline table_pipeline(char letter) {
  const Step binary{.filter = "binary"};
  const Step half{.filter = "threshold", .values = {0.5, 0}};
  const Step turn{.filter = "rotate", .values = {30}};
  const Step undistort{.filter = "undistort", .values = {-0.12, 0}};
  const Step crop{.filter = "crop", .values = {0.8}};
  switch (letter) {
  case 'A':
    return {.nodes = {node("blur"), node("sobel_x", {}, {0}), node("sobel_y", {}, {0}),
                      node("magnitude", {}, {1, 2}), node("threshold", {0.1, 0}, {3})}};
  case 'B':
    return chain({undistort, {.filter = "rotate", .values = {6}}, crop});
  case 'C':
    return chain({undistort, {.filter = "rotate", .values = {60}}, crop});
  case 'D':
    return chain({{.filter = "discretise", .values = {8}}, half, binary});
  case 'E':
    return chain({half, binary, turn});
  case 'F':
    return chain({half, turn, binary});
  case 'G':
    return chain({turn, half, binary});
  default:
    throw std::invalid_argument(std::string("no pipeline ") + letter);
  }
}

// A single luma plane.
inline PlaneGeometry gray(Size size) { return {.size = size, .luma = size}; }

// Uniformly distributed in [0,1), reproducible from the seed.
inline ScalarImage noise(Size size, unsigned seed = 1) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> value(0.0F, 1.0F);
  ScalarImage image{.size = size, .pixels = std::vector<float>(size.pixels())};
  for (float& pixel : image.pixels)
    pixel = value(generator);
  return image;
}

}  // namespace millrace::image
