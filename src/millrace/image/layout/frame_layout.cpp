#include "millrace/image/layout/frame_layout.h"

#include "millrace/image/layout/plane_builder.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace millrace::image {
namespace {

constexpr float chroma_fill = 0.5F;

constexpr std::pair<Planes, std::string_view> planes_names[] = {
    {Planes::automatic, "auto"}, {Planes::all, "all"}, {Planes::luma, "luma"}};

// Index of the source among the frames; adds it if it is new.
int place_of(const SourceFrame& source, std::vector<SourceFrame>& frames) {
  const SourceFrame frame{.offset = source.offset, .second = source.second};
  auto found = std::ranges::find(frames, frame);
  if (found == frames.end()) found = frames.insert(found, frame);
  return static_cast<int>(found - frames.begin());
}

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
  const Rect footprint = filter->simple().footprint(rect, input, coefficients);
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
  geometry.aspect_numerator = format.aspect_numerator;
  geometry.aspect_denominator = format.aspect_denominator;
  geometry.frame_step_x = video::chroma_step_x(format.chroma);
  geometry.frame_step_y = video::chroma_step_y(format.chroma);
  const bool full_unless_said = format.chroma == video::Chroma::gray;  // as in FFmpeg
  geometry.color = {.matrix = format.color_matrix,
                    .full_range = format.range == video::ColorRange::full ||
                                  (format.range == video::ColorRange::unspecified && full_unless_said),
                    .bits = format.bits};
  geometry.bottom_first = format.field_order == video::FieldOrder::bottom_first;
  if (plane > 0) {
    geometry.role = PlaneRole::chroma;
    geometry.step_x = geometry.frame_step_x;
    geometry.step_y = geometry.frame_step_y;
    geometry.fill = chroma_fill;
    geometry.gray = static_cast<float>(1 << (format.bits - 1)) / static_cast<float>((1 << format.bits) - 1);
  }
  return geometry;
}

Result<FrameLayout> lay_out_frame(const Pipeline& pipeline, const video::FrameFormat& format, Planes planes,
                                  Samples samples, const std::optional<video::FrameFormat>& second,
                                  const video::SampleForms& made) {
  if (!second && reads_second(pipeline))
    return usage_error("the pipeline reads a second video ('second'), but only one is given; `millrace run "
                       "PIPELINE FIRST SECOND` takes two");
  FrameLayout frame{.input = format, .second = second, .output = format, .planes = {}, .sources = {{}}};
  PlaneRequest request{.planes = planes,
                       .forms = format.forms,
                       .made = made,
                       .bits = samples == Samples::floats ? 0 : format.bits,
                       .changing = samples == Samples::codes_all_along};
  const int count = video::plane_count(format.chroma);
  for (int p = 0; p < count; ++p) {
    request.video.push_back(plane_geometry(format, p));
    request.second.push_back(plane_geometry(second.value_or(format), p));
    for (PlaneGeometry* geometry : {&request.video.back(), &request.second.back()})
      if (samples == Samples::floats) geometry->gray = geometry->fill;
  }
  const Pipeline complete = ending_in_ycbcr(pipeline);
  for (request.plane = 0; request.plane < count; ++request.plane) {
    auto layout = build_plane(complete, request);
    if (!layout) return std::unexpected(layout.error());
    for (std::size_t k = 0; k < layout->sources.size(); ++k)
      layout->places[k] = place_of(layout->sources[k], frame.sources) * count + layout->sources[k].plane;
    auto& form = frame.output.forms.at(static_cast<std::size_t>(request.plane));
    form = made.at(static_cast<std::size_t>(request.plane));
    if (made != video::SampleForms{} && layout->is_neutral()) form = video::SampleForm::nothing;
    if (form == video::SampleForm::nothing) layout->stages.clear();
    frame.planes.push_back(std::move(*layout));
  }
  const Size luma = frame.planes[0].output.luma;
  frame.output.width = luma.width;
  frame.output.height = luma.height;
  // The caller allocates planes by the format. A smaller plane would leave pixels that nothing writes.
  for (int p = 1; p < count; ++p) {
    const Size& made = frame.planes[static_cast<std::size_t>(p)].output.size;
    if (made != Size{video::plane_width(frame.output, p), video::plane_height(frame.output, p)})
      return usage_error("luma would become {}x{}, and a chroma plane {}x{}, which does not fit; a filter "
                         "that changes the size cannot pass chroma",
                         luma.width, luma.height, made.width, made.height);
  }
  const PlaneGeometry& shown = frame.planes[0].output;
  constexpr std::int64_t largest = std::numeric_limits<int>::max();
  if (shown.aspect_numerator <= largest && shown.aspect_denominator <= largest) {
    frame.output.aspect_numerator = static_cast<int>(shown.aspect_numerator);
    frame.output.aspect_denominator = static_cast<int>(shown.aspect_denominator);
  }
  if (format.is_interlaced() && makes_progressive(pipeline).back())
    frame.output.field_order = video::FieldOrder::progressive;
  return frame;
}

NeighbouringFrames FrameLayout::neighbours() const {
  NeighbouringFrames neighbours;
  for (const SourceFrame& source : sources) {
    neighbours.before = std::max(neighbours.before, -source.offset);
    neighbours.after = std::max(neighbours.after, source.offset);
  }
  return neighbours;
}

bool same_stages(const FrameLayout& a, const FrameLayout& b) {
  const auto alike = [](const StageLayout& left, const StageLayout& right) {
    return left.filter == right.filter && left.inputs == right.inputs &&
           left.output.size == right.output.size;
  };
  return a.sources == b.sources &&
         std::ranges::equal(a.planes, b.planes, [&](const PlaneLayout& left, const PlaneLayout& right) {
           return left.sources == right.sources && std::ranges::equal(left.stages, right.stages, alike);
         });
}

Result<PlaneLayout> lay_out_plane(const Pipeline& pipeline, const PlaneGeometry& geometry,
                                  const std::optional<PlaneGeometry>& second) {
  return build_plane(ending_in_ycbcr(pipeline), {.video = {geometry}, .second = {second.value_or(geometry)}});
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
