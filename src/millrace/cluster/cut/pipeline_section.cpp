#include "millrace/cluster/cut/pipeline_section.h"

#include <utility>

namespace millrace::cluster {

std::vector<StageLoad> loads_of(const image::Pipeline& pipeline) {
  std::vector<StageLoad> loads;
  for (const image::Node& node : pipeline.nodes)
    loads.push_back({.inputs = node.inputs});
  return loads;
}

image::Pipeline section_of(const image::Pipeline& pipeline, std::size_t first, std::size_t count) {
  image::Pipeline section;
  for (std::size_t i = first; i < first + count; ++i) {
    image::Node node = pipeline.nodes[i];
    for (int& input : node.inputs)
      input = input < static_cast<int>(first) ? image::Node::source : input - static_cast<int>(first);
    section.nodes.push_back(std::move(node));
  }
  return image::canonical(section);
}

Result<std::vector<PipelineSection>> take_apart(const image::Pipeline& pipeline,
                                                const std::vector<std::size_t>& begins,
                                                const video::FrameFormat& input, image::Planes planes) {
  std::vector<PipelineSection> sections;
  video::FrameFormat format = input;
  format.time_base_numerator = 0;
  format.time_base_denominator = 1;
  for (std::size_t i = 0; i <= begins.size(); ++i) {
    const std::size_t first = i == 0 ? 0 : begins[i - 1];
    const std::size_t end = i < begins.size() ? begins[i] : pipeline.nodes.size();
    PipelineSection section{.pipeline = section_of(pipeline, first, end - first), .input = format};
    const bool last = i == begins.size();
    const auto layout = image::lay_out_frame(section.pipeline, format, planes,
                                             last ? image::Samples::codes : image::Samples::handed_on);
    if (!layout) return std::unexpected(layout.error());
    section.output = format = layout->output;
    section.neighbours = image::neighbours_of(section.pipeline);
    sections.push_back(std::move(section));
  }
  return sections;
}

}  // namespace millrace::cluster
