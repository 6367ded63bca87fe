#include "millrace/cluster/live_split/pipeline_section.h"

#include <algorithm>
#include <utility>

namespace millrace::cluster {
namespace {

// The form of each plane's samples between the stages before `place` and those after it, in a single run of
// the whole pipeline. A filter on codes rounds differently from one on numbers, and which one is used depends
// on the following stages. If a section's input and output have the same form as in a single run, it makes
// the same choice. Filters that mix planes read numbers, with all planes in one form.
video::SampleForms handed_on(const image::Pipeline& pipeline, const image::FrameLayout& whole,
                             std::size_t place) {
  const bool mixed =
      std::any_of(pipeline.nodes.begin() + static_cast<std::ptrdiff_t>(place), pipeline.nodes.end(),
                  [](const image::Node& node) { return node.filter->if_mixing() != nullptr; });
  video::SampleForms forms{};
  for (std::size_t p = 0; p < whole.planes.size(); ++p) {
    const bool on_codes = std::ranges::all_of(whole.planes[p].stages, [&](const image::StageLayout& stage) {
      return stage.node < 0 || stage.node >= static_cast<int>(place) ||
             stage.filter->simple().output_type != image::ElementType::f32;
    });
    forms.at(p) = mixed                          ? video::SampleForm::numbers
                  : whole.planes[p].is_neutral() ? video::SampleForm::nothing
                  : on_codes                     ? video::SampleForm::codes
                                                 : video::SampleForm::numbers;
  }
  return forms;
}

}  // namespace

std::vector<StageLoad> loads_of(const image::Pipeline& pipeline) {
  std::vector<StageLoad> loads;
  for (const image::Node& node : pipeline.nodes)
    loads.push_back({.inputs = node.inputs});
  return loads;
}

std::vector<std::size_t> section_places(const image::Pipeline& pipeline) {
  std::vector<std::size_t> places = split_places(loads_of(pipeline));
  const std::vector<bool> rgb = image::makes_rgb(pipeline);
  std::erase_if(places, [&](std::size_t place) { return rgb[place - 1]; });
  return places;
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
  const auto whole = image::lay_out_frame(pipeline, input, planes);
  if (!whole) return std::unexpected(whole.error());
  std::vector<PipelineSection> sections;
  video::FrameFormat format = input;
  format.time_base_numerator = 0;
  format.time_base_denominator = 1;
  for (std::size_t i = 0; i <= begins.size(); ++i) {
    const std::size_t first = i == 0 ? 0 : begins[i - 1];
    const std::size_t end = i < begins.size() ? begins[i] : pipeline.nodes.size();
    PipelineSection section{.pipeline = section_of(pipeline, first, end - first), .input = format};
    const auto made = i == begins.size() ? video::SampleForms{} : handed_on(pipeline, *whole, end);
    const auto layout =
        image::lay_out_frame(section.pipeline, format, planes, image::Samples::codes, {}, made);
    if (!layout) return std::unexpected(layout.error());
    section.output = format = layout->output;
    section.neighbours = image::neighbours_of(section.pipeline);
    sections.push_back(std::move(section));
  }
  return sections;
}

}  // namespace millrace::cluster
