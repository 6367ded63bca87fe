#include "millrace/image/layout/frame_layout.h"

#include "millrace/image/filters/named_filters.h"

#include <algorithm>
#include <utility>

namespace millrace::image {
namespace {

constexpr float chroma_fill = 0.5F;

struct PlaneRequest {
  PlaneGeometry geometry;
  Planes planes = Planes::all;
  bool chroma = false;
  int bits = 0;  // of code values; 0: floats, no conversions
};

ChromaDefault treatment(const Filter& filter, const PlaneRequest& plane) {
  if (!plane.chroma || plane.planes == Planes::all) return ChromaDefault::filtered;
  if (plane.planes == Planes::automatic) return filter.chroma;
  return filter.geometric ? ChromaDefault::filtered : ChromaDefault::passes;
}

// What a node makes of a plane.
struct Made {
  int stage = StageLayout::source;  // that makes it; of no meaning where it is neutral
  PlaneGeometry geometry;
  bool neutral = false;
};

StageLayout conversion(const Filter& filter, int input, const PlaneGeometry& geometry, double maximum) {
  StageLayout stage{.filter = &filter, .node = -1, .inputs = {input}, .input = geometry, .output = geometry};
  stage.coefficients = filter.coefficients(geometry, {maximum});
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

// What the node makes, with its stage added where it needs one.
Result<Made> add_node(const Pipeline& pipeline, std::size_t n, const std::vector<Made>& inputs,
                      ChromaDefault treatment, std::vector<StageLayout>& stages) {
  const Node& node = pipeline.nodes[n];
  if (treatment == ChromaDefault::passes) return inputs[0];
  const PlaneGeometry& geometry = inputs[0].geometry;
  for (const Made& input : inputs) {
    if (input.geometry.size != geometry.size) {
      return usage_error("{}: its inputs differ in size, {}x{} and {}x{}; give every branch the same crop",
                         node.filter->name, geometry.size.width, geometry.size.height,
                         input.geometry.size.width, input.geometry.size.height);
    }
  }
  auto output = node.filter->output(geometry, node.values);
  if (!output) return std::unexpected(output.error());
  if (treatment == ChromaDefault::neutral || std::ranges::any_of(inputs, &Made::neutral))
    return Made{.geometry = *output, .neutral = true};
  StageLayout& stage = stages.emplace_back();
  stage.filter = node.filter;
  stage.node = static_cast<int>(n);
  for (const Made& input : inputs)
    stage.inputs.push_back(input.stage);
  stage.input = geometry;
  stage.output = *output;
  stage.coefficients = node.filter->coefficients(geometry, node.values);
  return Made{.stage = static_cast<int>(stages.size()) - 1, .geometry = *output};
}

Result<PlaneLayout> layout(const Pipeline& pipeline, const PlaneRequest& request) {
  PlaneLayout layout{.source = request.geometry, .output = request.geometry};
  std::vector<StageLayout>& stages = layout.stages;
  const double maximum = (1 << request.bits) - 1;
  Made source{.geometry = request.geometry};
  if (request.bits > 0) {
    layout.source_type = layout.output_type = request.bits > 8 ? ElementType::u16 : ElementType::u8;
    layout.neutral = static_cast<float>(1 << (request.bits - 1));
    stages.push_back(
        conversion(load_filter(layout.source_type), StageLayout::source, request.geometry, maximum));
    source.stage = 0;
  }

  std::vector<Made> made;
  for (std::size_t n = 0; n < pipeline.nodes.size(); ++n) {
    std::vector<Made> inputs;
    for (int input : pipeline.nodes[n].inputs)
      inputs.push_back(input == Node::source ? source : made[input]);
    auto result = add_node(pipeline, n, inputs, treatment(*pipeline.nodes[n].filter, request), stages);
    if (!result) return std::unexpected(result.error());
    made.push_back(*result);
  }

  const Made& last = made.back();
  layout.output = last.geometry;
  if (last.neutral) {
    stages.clear();
    return layout;
  }
  int output = last.stage;
  if (request.bits > 0 || output == StageLayout::source) {
    const Filter& filter = request.bits > 0 ? store_filter(layout.output_type) : copy_filter();
    output = static_cast<int>(stages.size());
    stages.push_back(conversion(filter, last.stage, last.geometry, maximum));
  }
  stages = leading_to(output, std::move(stages));
  return layout;
}

constexpr std::pair<Planes, std::string_view> planes_names[] = {
    {Planes::automatic, "auto"}, {Planes::all, "all"}, {Planes::luma, "luma"}};

}  // namespace

std::string_view name_of(Planes planes) {
  return std::ranges::find(planes_names, planes, &std::pair<Planes, std::string_view>::first)->second;
}

Result<Planes> parse_planes(std::string_view name) {
  for (const auto& [planes, its_name] : planes_names) {
    if (its_name == name) return planes;
  }
  return usage_error("unknown planes '{}'; use auto, all or luma", name);
}

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
                                     .planes = planes,
                                     .chroma = p > 0,
                                     .bits = samples == Samples::codes ? format.bits : 0});
    if (!layouts) return std::unexpected(layouts.error());
    frame.planes.push_back(std::move(*layouts));
  }
  const Size luma = frame.planes[0].output.luma;
  frame.output.width = luma.width;
  frame.output.height = luma.height;
  return frame;
}

Result<PlaneLayout> lay_out_plane(const Pipeline& pipeline, const PlaneGeometry& geometry) {
  return layout(pipeline, {.geometry = geometry});
}

std::vector<Rect> required_regions(const PlaneLayout& layout, const Rect& output) {
  if (layout.is_neutral()) return {};
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
