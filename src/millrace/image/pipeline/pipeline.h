// A pipeline as the user wrote it: a directed acyclic graph of filters with parameter values, independent of
// the frame size. pipeline_language.h and pipeline_toml.h read and write it. frame_layout.h turns it into
// work for one plane.
#pragma once

#include "millrace/image/filter/filter.h"
#include "millrace/image/filters/named_filters.h"

#include <cstddef>
#include <string>
#include <vector>

namespace millrace::image {

// Both readers refuse pipelines with more stages.
inline constexpr std::size_t max_stages = 256;

// One use of a filter. An input is the index of an earlier node, or one of the input videos.
struct Node {
  static constexpr int source = -1;  // the first video, which is processed
  static constexpr int second = -2;  // an additional video

  [[nodiscard]] static constexpr bool is_video(int input) { return input < 0; }

  FilterRef filter;         // one of all_filters(), or one made at run time
  ParameterValues values;   // one per parameter of the filter, each within its range
  std::vector<int> inputs;  // one per input of the filter

  bool operator==(const Node&) const = default;
};

// Nodes in topological order. The last one is the output; all others lead to it. Never empty. The readers
// also return canonical order, so that equal graphs give equal pipelines.
struct Pipeline {
  std::vector<Node> nodes;

  bool operator==(const Pipeline&) const = default;
};

// The same graph in canonical order: depth first from the output, inputs of each node in order. Requires
// topological order with the output last. Nodes that do not lead to the output are dropped.
[[nodiscard]] Pipeline canonical(const Pipeline& pipeline);

// Maximum number of frames before and after the current one that the pipeline reads. Planes that bypass some
// filters may need fewer.
[[nodiscard]] NeighbouringFrames neighbours_of(const Pipeline& pipeline);

// For each node, whether its result is progressive if the source frames hold two fields, because every path
// from the source deinterlaces.
[[nodiscard]] std::vector<bool> makes_progressive(const Pipeline& pipeline);

// For each node, whether its result is RGB.
[[nodiscard]] std::vector<bool> makes_rgb(const Pipeline& pipeline);

// The same pipeline, with a final conversion to Y'CbCr if its output is RGB.
[[nodiscard]] Pipeline ending_in_ycbcr(Pipeline pipeline);

// Whether a filter combines planes or only changes chroma. Such a pipeline is meaningless for channels that
// are separate images.
[[nodiscard]] bool needs_color(const Pipeline& pipeline);

// Whether a filter reads the second video.
[[nodiscard]] bool reads_second(const Pipeline& pipeline);

// The first filter that reads neighbouring frames, or null.
[[nodiscard]] const Filter* neighbour_reader(const Pipeline& pipeline);

// The pipeline as text, the same for equal pipelines: in the pipeline language if it can express the graph
// (see to_language), else as TOML. Both read back as the same pipeline. Requires canonical order.
[[nodiscard]] std::string to_string(const Pipeline& pipeline);

}  // namespace millrace::image
