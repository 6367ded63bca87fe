// A pipeline as the user means it: a directed acyclic graph of filters with parameter values, independent of
// any frame size. pipeline_language.h and pipeline_toml.h read and write it; layout.h turns it into work for
// one plane.
#pragma once

#include "millrace/image/filter/filter.h"
#include "millrace/image/filters/named_filters.h"

#include <cstddef>
#include <string>
#include <vector>

namespace millrace::image {

// More stages than this in one pipeline are refused by both readers.
inline constexpr std::size_t max_stages = 256;

// One use of a filter. An input is the index of an earlier node, or one of the videos that come in.
struct Node {
  static constexpr int source = -1;  // the first one, which is processed
  static constexpr int second = -2;  // one beside it

  [[nodiscard]] static constexpr bool is_video(int input) { return input < 0; }

  FilterRef filter;         // one of all_filters(), or one made at run time
  ParameterValues values;   // as many as the filter has parameters, each within its range
  std::vector<int> inputs;  // as many as the filter has inputs

  bool operator==(const Node&) const = default;
};

// Nodes in topological order; the last one is the output, and every other one leads to it. Never empty.
// What the readers return is also in canonical order, so that pipelines are equal where their graphs are.
struct Pipeline {
  std::vector<Node> nodes;

  bool operator==(const Pipeline&) const = default;
};

// The same graph in canonical order: depth first from the output, the inputs of each node in their order.
// Needs a topological order with the output last; nodes that do not lead to the output are dropped.
[[nodiscard]] Pipeline canonical(const Pipeline& pipeline);

// How many frames around the one that is made a pipeline reads at most; fewer where planes pass some of its
// filters by.
[[nodiscard]] NeighbouringFrames neighbours_of(const Pipeline& pipeline);

// For each node whether what it makes of frames that hold two fields is progressive: it is deinterlaced, on
// every way from the source.
[[nodiscard]] std::vector<bool> makes_progressive(const Pipeline& pipeline);

// For each node whether what it makes is RGB.
[[nodiscard]] std::vector<bool> makes_rgb(const Pipeline& pipeline);

// The same pipeline, with a last node that makes Y'CbCr of it again where its output is RGB.
[[nodiscard]] Pipeline ending_in_ycbcr(Pipeline pipeline);

// Whether a filter makes a plane of several, or works on chroma alone, so that the pipeline means nothing for
// channels that are images of their own.
[[nodiscard]] bool needs_color(const Pipeline& pipeline);

// Whether a filter reads the second video.
[[nodiscard]] bool reads_second(const Pipeline& pipeline);

// The first filter that reads neighbouring frames; null: none does.
[[nodiscard]] const Filter* neighbour_reader(const Pipeline& pipeline);

// The pipeline as text, in one spelling for equal pipelines: in the pipeline language where that can express
// the graph (see to_language), else as TOML. Either reads back as the same pipeline. Needs canonical order.
[[nodiscard]] std::string to_string(const Pipeline& pipeline);

}  // namespace millrace::image
