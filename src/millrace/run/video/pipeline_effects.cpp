#include "millrace/run/video/pipeline_effects.h"

#include "millrace/image/layout/frame_layout.h"
#include "millrace/video/frame/frame_fields.h"

#include <algorithm>
#include <memory>

namespace millrace::run {
namespace {

bool mixes_rows(const image::Filter& filter) {
  const image::SimpleFilter* simple = filter.if_simple();
  return filter.geometric || (simple != nullptr && simple->access != image::Access::pointwise);
}

// Whether every pixel keeps its position, as in a crop that removes nothing.
bool stays_in_place(const image::Node& node, const image::PlaneGeometry& plane) {
  const image::Filter& filter = *node.filter;
  const image::SimpleFilter* simple = filter.if_simple();
  if (simple == nullptr || simple->access != image::Access::pointwise || filter.inputs != 1) return false;
  const image::Rect first{0, 0, 1, 1};
  const auto output = filter.output(plane, node.values);
  return output && output->size == plane.size &&
         simple->footprint(first, plane, simple->coefficients(plane, node.values)) == first;
}

// The first filter that sees two fields and computes a row from others, or moves it.
const image::Filter* row_mixing_filter(const image::Pipeline& pipeline, const image::PlaneGeometry& plane) {
  const std::vector<bool> progressive = image::makes_progressive(pipeline);
  for (std::size_t n = 0; n < pipeline.nodes.size(); ++n) {
    const image::Node& node = pipeline.nodes[n];
    if (node.filter->makes_progressive || std::ranges::none_of(node.inputs, [&](int input) {
          return image::Node::is_video(input) || !progressive[static_cast<std::size_t>(input)];
        }))
      continue;
    // Chroma rows lie between luma rows.
    const bool mixes_chroma = node.filter->if_mixing() != nullptr && plane.frame_step_y > 1;
    if ((mixes_rows(*node.filter) && !stays_in_place(node, plane)) || mixes_chroma) return node.filter;
    const image::ComposedFilter* composed = node.filter->if_composed();
    if (composed != nullptr &&
        std::ranges::any_of(composed->parts(std::vector(node.inputs.size(), plane), node.values),
                            [](const image::Part& part) { return mixes_rows(*part.filter); }))
      return node.filter;
  }
  return nullptr;
}

}  // namespace

Status check_fields(const image::Pipeline& pipeline, const video::FrameFormat& input, std::string_view name) {
  if (!input.is_interlaced()) return {};
  const image::Filter* const filter = row_mixing_filter(pipeline, image::plane_geometry(input, 0));
  if (filter == nullptr) return {};
  return usage_error("{}: is interlaced, and {} would mix the rows of its two fields; put 'deinterlace' "
                     "before it, or give --treat-as-progressive if the flag is wrong",
                     name, filter->name);
}

Status check_frame_fields(const image::Pipeline& pipeline, const video::FrameFormat& input,
                          const video::Frame& frame, std::string_view name) {
  const auto fields = video::fields_of(frame);
  if (!fields) return {};
  if (const image::Filter* const filter = row_mixing_filter(pipeline, image::plane_geometry(input, 0)))
    return failure("{}: frame {}: is interlaced, unlike the first one, and {} would mix the rows of its two "
                   "fields; put 'deinterlace' before it, or give --treat-as-progressive if the flag is wrong",
                   name, frame.index, filter->name);
  const bool bottom = *fields == video::FieldOrder::bottom_first;
  const bool taken_for_bottom = input.field_order == video::FieldOrder::bottom_first;
  const bool by_format = std::ranges::any_of(pipeline.nodes, [](const image::Node& node) {
    const auto& parameters = node.filter->parameters;
    const auto first = std::ranges::find(parameters, "first", &image::Parameter::name);
    return node.filter->makes_progressive && first != parameters.end() &&
           node.values[static_cast<std::size_t>(first - parameters.begin())] == 0;
  });
  if (!by_format || bottom == taken_for_bottom) return {};
  return failure(
      "{}: frame {}: its {} field comes first, unlike before; cut the video there, or say which one to "
      "take: deinterlace(first={})",
      name, frame.index, bottom ? "bottom" : "top", bottom ? "bottom" : "top");
}

// Drops the spherical mapping of pixels if pixels move.
video::SharedProperties after_pipeline(const video::SharedProperties& properties,
                                       const image::Pipeline& pipeline) {
  const bool moves =
      std::ranges::any_of(pipeline.nodes, [](const image::Node& n) { return n.filter->geometric; });
  if (!properties || !moves) return properties;
  auto changed = std::make_shared<video::Properties>(*properties);
  changed->erase("Spherical Mapping");
  return changed;
}

}  // namespace millrace::run
