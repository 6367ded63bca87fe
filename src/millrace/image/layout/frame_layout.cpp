#include "millrace/image/layout/frame_layout.h"

#include "millrace/image/filters/named_filters.h"

#include <algorithm>

namespace millrace::image {
namespace {

constexpr float chroma_fill = 0.5F;

struct PlaneRequest {
  PlaneGeometry geometry;
  bool geometric_only = false;
  int bits = 0;  // of code values; 0: floats, no conversions
};

StageLayout conversion(const Filter& filter, int input, const PlaneGeometry& geometry, double maximum) {
  StageLayout stage{.filter = &filter, .node = -1, .inputs = {input}, .input = geometry, .output = geometry};
  stage.coefficients = filter.coefficients(geometry, {maximum});
  return stage;
}

// A plane that no filter touches still needs a stage that makes the output: a crop that keeps everything.
StageLayout copy(const PlaneGeometry& geometry) {
  const Filter& crop = *find_filter("crop");
  StageLayout stage{
      .filter = &crop, .node = -1, .inputs = {StageLayout::source}, .input = geometry, .output = geometry};
  stage.coefficients = crop.coefficients(geometry, {1});
  return stage;
}

// The stages that lead to `last`, renumbered; it comes last. Leaving out filters leaves branches without a
// reader.
std::vector<StageLayout> leading_to(int last, std::vector<StageLayout> stages) {
  std::vector<bool> leads(stages.size());
  leads[last] = true;
  for (std::size_t s = stages.size(); s-- > 0;) {
    if (!leads[s]) continue;
    for (int input : stages[s].inputs) {
      if (input >= 0) leads[input] = true;
    }
  }
  std::vector<StageLayout> kept;
  std::vector<int> renumbered(stages.size());
  for (std::size_t s = 0; s < stages.size(); ++s) {
    if (!leads[s]) continue;
    for (int& input : stages[s].inputs) {
      if (input >= 0) input = renumbered[input];
    }
    renumbered[s] = static_cast<int>(kept.size());
    kept.push_back(std::move(stages[s]));
  }
  return kept;
}

Result<PlaneLayout> layout(const Pipeline& pipeline, const PlaneRequest& request) {
  PlaneLayout layout{.source = request.geometry, .source_type = ElementType::f32, .stages = {}};
  const double maximum = (1 << request.bits) - 1;
  const ElementType codes = request.bits > 8 ? ElementType::u16 : ElementType::u8;
  if (request.bits > 0) {
    layout.source_type = codes;
    layout.stages.push_back(conversion(load_filter(codes), StageLayout::source, request.geometry, maximum));
  }
  const int first =
      static_cast<int>(layout.stages.size()) - 1;  // what a node's `source` means: load, or the plane

  const auto geometry_of = [&](int stage) {
    return stage < 0 ? request.geometry : layout.stages[stage].output;
  };
  std::vector<int> stage_of_node;
  for (std::size_t n = 0; n < pipeline.nodes.size(); ++n) {
    const Node& node = pipeline.nodes[n];
    std::vector<int> inputs;
    inputs.reserve(node.inputs.size());
    for (int input : node.inputs) {
      inputs.push_back(input == Node::source ? first : stage_of_node[input]);
    }
    if (request.geometric_only && !node.filter->geometric) {
      stage_of_node.push_back(inputs[0]);
      continue;
    }
    StageLayout stage{.filter = node.filter,
                      .node = static_cast<int>(n),
                      .inputs = inputs,
                      .input = geometry_of(inputs[0])};
    for (int input : inputs) {
      const Size size = geometry_of(input).size;
      if (size != stage.input.size) {
        return usage_error("{}: its inputs differ in size, {}x{} and {}x{}; give every branch the same crop",
                           node.filter->name, stage.input.size.width, stage.input.size.height, size.width,
                           size.height);
      }
    }
    auto output = node.filter->output(stage.input, node.values);
    if (!output) return std::unexpected(output.error());
    stage.output = *output;
    stage.coefficients = node.filter->coefficients(stage.input, node.values);
    stage_of_node.push_back(static_cast<int>(layout.stages.size()));
    layout.stages.push_back(std::move(stage));
  }

  int last = stage_of_node.back();
  if (request.bits > 0) {
    layout.stages.push_back(conversion(store_filter(codes), last, geometry_of(last), maximum));
    last = static_cast<int>(layout.stages.size()) - 1;
  } else if (last == StageLayout::source) {
    layout.stages.push_back(copy(request.geometry));
    last = static_cast<int>(layout.stages.size()) - 1;
  }
  layout.stages = leading_to(last, std::move(layout.stages));
  return layout;
}

}  // namespace

StageLayout::Reads StageLayout::reads(const Rect& rect) const {
  if (rect.empty()) return {};
  const Rect footprint = filter->footprint(rect, input, coefficients);
  const Rect frame = whole(input.size);
  const Rect inside = intersection(footprint, frame);
  return {.required = inside.empty() ? Rect{} : inside,
          .interior = frame.contains(footprint),
          .inner_columns = footprint.x0 >= frame.x0 && footprint.x1 <= frame.x1};
}

PlaneGeometry plane_geometry(const video::FrameFormat& format, int plane) {
  PlaneGeometry geometry;
  geometry.luma = {format.width, format.height};
  geometry.size = {video::plane_width(format, plane), video::plane_height(format, plane)};
  geometry.frame_step_x = video::chroma_step_x(format.chroma);
  geometry.frame_step_y = video::chroma_step_y(format.chroma);
  if (plane > 0) {
    geometry.step_x = geometry.frame_step_x;
    geometry.step_y = geometry.frame_step_y;
    geometry.fill = chroma_fill;
  }
  return geometry;
}

Result<FrameLayout> lay_out_frame(const Pipeline& pipeline, const video::FrameFormat& format, Planes planes,
                                  Samples samples) {
  FrameLayout frame{.input = format, .output = format, .planes = {}};
  for (int p = 0; p < video::plane_count(format.chroma); ++p) {
    auto layouts = layout(pipeline, {.geometry = plane_geometry(format, p),
                                     .geometric_only = planes == Planes::luma && p > 0,
                                     .bits = samples == Samples::codes ? format.bits : 0});
    if (!layouts) return std::unexpected(layouts.error());
    frame.planes.push_back(std::move(*layouts));
  }
  const Size luma = frame.planes[0].output().output.luma;
  frame.output.width = luma.width;
  frame.output.height = luma.height;
  return frame;
}

Result<PlaneLayout> lay_out_plane(const Pipeline& pipeline, const PlaneGeometry& geometry) {
  return layout(pipeline, {.geometry = geometry});
}

std::vector<Rect> required_regions(const PlaneLayout& layout, const Rect& output) {
  std::vector<Rect> regions(layout.stages.size());
  regions.back() = output;
  for (std::size_t s = layout.stages.size(); s-- > 0;) {
    const Rect needed = layout.stages[s].required(regions[s]);
    for (int input : layout.stages[s].inputs) {
      if (input < 0) continue;
      Rect& region = regions[input];
      region = bounding(region, needed);
    }
  }
  return regions;
}

}  // namespace millrace::image
