#include "millrace/image/layout/frame_layout.h"

#include "millrace/image/filters/named_filters.h"
#include "millrace/image/layout/conversions.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace millrace::image {
namespace {

constexpr float chroma_fill = 0.5F;

struct PlaneRequest {
  PlaneGeometry geometry;
  PlaneGeometry second;  // of the second video
  Planes planes = Planes::all;
  bool chroma = false;
  bool neutral = false;  // already, where it comes from
  int bits = 0;          // of code values
  bool loads = true;     // code values come
  bool stores = true;    // code values are made
};

ChromaDefault treatment(const Filter& filter, const PlaneRequest& plane) {
  if (!plane.chroma && filter.luma_passes) return ChromaDefault::passes;
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
  StageLayout stage{.filter = &filter,
                    .name = std::string(filter.name),
                    .node = -1,
                    .inputs = {input},
                    .input = geometry,
                    .output = geometry};
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

// One more stage, and what it makes. The inputs are of equal size and none is neutral. A part of a filter
// whose inputs differ takes them one at a time.
Result<Made> add_stage(const FilterRef& filter, const ParameterValues& values, std::string name, int node,
                       const std::vector<Made>& inputs, std::vector<StageLayout>& stages) {
  const PlaneGeometry& geometry = inputs[0].geometry;
  const auto output = filter->output(geometry, values);
  if (!output) return std::unexpected(output.error());
  StageLayout& stage = stages.emplace_back();
  stage.filter = filter;
  stage.name = std::move(name);
  stage.node = node;
  for (const Made& input : inputs)
    stage.inputs.push_back(input.stage);
  stage.input = geometry;
  stage.output = *output;
  stage.coefficients = filter->coefficients(geometry, values);
  return Made{.stage = static_cast<int>(stages.size()) - 1, .geometry = *output};
}

// Lays out one plane from the output backwards: what a node makes so many frames after the one that is made,
// once for each such offset that is asked for.
class PlaneBuilder {
 public:
  PlaneBuilder(const Pipeline& pipeline, const PlaneRequest& request, std::vector<SourceFrame>& sources)
      : pipeline_(pipeline), request_(request), sources_(sources) {}

  Result<PlaneLayout> build() {
    PlaneLayout layout{.source = request_.geometry, .second = request_.second, .output = request_.geometry};
    if (request_.loads) layout.source_type = element_type();
    if (request_.stores) {
      layout.output_type = element_type();
      layout.neutral = static_cast<float>(1 << (request_.bits - 1));
    }
    const auto last = made_by(static_cast<int>(pipeline_.nodes.size()) - 1, 0);
    if (!last) return std::unexpected(last.error());
    layout.output = last->geometry;
    if (last->neutral) return layout;
    int output = last->stage;
    if (request_.stores || StageLayout::is_source(output)) {
      const Filter& filter = request_.stores ? store_filter(layout.output_type) : copy_filter();
      output = static_cast<int>(stages_.size());
      stages_.push_back(conversion(filter, last->stage, last->geometry, maximum()));
    }
    layout.stages = leading_to(output, std::move(stages_));
    layout.sources = sources_;
    return with_choices_on_codes(std::move(layout));
  }

 private:
  [[nodiscard]] double maximum() const { return (1 << request_.bits) - 1; }
  [[nodiscard]] ElementType element_type() const {
    return request_.bits > 8 ? ElementType::u16 : ElementType::u8;
  }

  Result<Made> made_by(int node, int offset) {
    const auto known = made_.find({node, offset});
    if (known != made_.end()) return known->second;
    auto made = Node::is_video(node) ? source_frame({.offset = offset, .second = node == Node::second})
                                     : computed(node, offset);
    if (made) made_.emplace(std::pair{node, offset}, *made);
    return made;
  }

  Result<Made> source_frame(const SourceFrame& frame) {
    if (std::abs(frame.offset) > max_neighbouring_frames) {
      return usage_error("the pipeline reads frames that are {} apart from the one it makes; {} is the most",
                         std::abs(frame.offset), max_neighbouring_frames);
    }
    auto found = std::ranges::find(sources_, frame);
    if (found == sources_.end()) found = sources_.insert(found, frame);
    Made made{.stage = StageLayout::source - static_cast<int>(found - sources_.begin()),
              .geometry = frame.second ? request_.second : request_.geometry,
              .neutral = request_.neutral};
    if (request_.loads) {
      stages_.push_back(conversion(load_filter(element_type()), made.stage, made.geometry, maximum()));
      made.stage = static_cast<int>(stages_.size()) - 1;
    }
    return made;
  }

  Result<Made> computed(int n, int offset) {
    const Node& node = pipeline_.nodes[n];
    const ChromaDefault treated = treatment(*node.filter, request_);
    if (treated == ChromaDefault::passes) return made_by(node.inputs[0], offset);
    std::vector<Made> inputs;
    for (int input : node.inputs) {
      auto made = made_by(input, offset);
      if (!made) return made;
      inputs.push_back(std::move(*made));
    }
    const PlaneGeometry& geometry = inputs[0].geometry;
    for (const Made& input : inputs) {
      if (input.geometry.size != geometry.size && !node.filter->sizes_may_differ) {
        return usage_error("{}: its inputs differ in size, {}x{} and {}x{}; {}", node.filter->name,
                           geometry.size.width, geometry.size.height, input.geometry.size.width,
                           input.geometry.size.height, way_to_one_size(node, inputs));
      }
    }
    auto output = node.filter->output(geometry, node.values);
    if (!output) return std::unexpected(output.error());
    if (treated == ChromaDefault::neutral || std::ranges::any_of(inputs, &Made::neutral))
      return Made{.geometry = *output, .neutral = true};
    if (node.filter->composed()) return parts_of(n, offset, inputs);
    return add_stage(node.filter, node.values, std::string(node.filter->name), n, inputs, stages_);
  }

  // As of luma, whatever the plane.
  static std::string way_to_one_size(const Node& node, const std::vector<Made>& inputs) {
    const auto others = std::ranges::find_if(node.inputs, [](int input) { return input != Node::second; });
    const std::size_t other = others == node.inputs.end() ? 0 : others - node.inputs.begin();
    const Size& first = inputs[other].geometry.luma;
    if (std::ranges::find(node.inputs, Node::second) == node.inputs.end())
      return fmt::format("give every branch the same crop, or resize({}, {})", first.width, first.height);
    return fmt::format("resize the second video: [input, second | resize({}, {})] | {}", first.width,
                       first.height, node.filter->name);
  }

  // The stages of a composed filter.
  Result<Made> parts_of(int n, int offset, const std::vector<Made>& inputs) {
    const Node& node = pipeline_.nodes[n];
    const auto whole_input = [&](int k) -> Result<Made> {
      if (node.filter->frames == nullptr) return inputs.at(k);
      return made_by(node.inputs[0], offset + k - node.filter->frames(node.values).before);
    };
    std::vector<PlaneGeometry> geometries;
    for (const Made& input : inputs)
      geometries.push_back(input.geometry);
    std::vector<Made> made;
    for (const Part& part : node.filter->parts(geometries, node.values)) {
      std::vector<Made> part_inputs;
      for (int input : part.inputs) {
        auto read = input < 0 ? whole_input(-1 - input) : Result<Made>(made.at(input));
        if (!read) return read;
        part_inputs.push_back(std::move(*read));
      }
      auto result =
          add_stage(part.filter, part.values, fmt::format("{}.{}", node.filter->name, part.filter->name), n,
                    part_inputs, stages_);
      if (!result) return result;
      made.push_back(std::move(*result));
    }
    return made.back();
  }

  const Pipeline& pipeline_;
  const PlaneRequest& request_;
  std::vector<SourceFrame>& sources_;
  std::vector<StageLayout> stages_;
  std::map<std::pair<int, int>, Made> made_;
};

video::SampleForm form_of_output(const std::vector<PlaneLayout>& planes, Samples samples) {
  if (samples != Samples::handed_on) return video::SampleForm::codes;
  const bool has_colour = planes.size() == 1 || !planes.back().is_neutral();
  return has_colour ? video::SampleForm::numbers : video::SampleForm::numbers_of_luma;
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
  geometry.aspect_numerator = format.aspect_numerator;
  geometry.aspect_denominator = format.aspect_denominator;
  geometry.frame_step_x = video::chroma_step_x(format.chroma);
  geometry.frame_step_y = video::chroma_step_y(format.chroma);
  geometry.bottom_first = format.field_order == video::FieldOrder::bottom_first;
  if (plane > 0) {
    geometry.step_x = geometry.frame_step_x;
    geometry.step_y = geometry.frame_step_y;
    geometry.fill = chroma_fill;
    geometry.gray = static_cast<float>(1 << (format.bits - 1)) / static_cast<float>((1 << format.bits) - 1);
  }
  return geometry;
}

Result<FrameLayout> lay_out_frame(const Pipeline& pipeline, const video::FrameFormat& format, Planes planes,
                                  Samples samples, const std::optional<video::FrameFormat>& second) {
  if (!second && reads_second(pipeline))
    return usage_error("the pipeline reads a second video ('second'), and there is none here; `millrace run "
                       "PIPELINE FIRST SECOND` takes two");
  FrameLayout frame{.input = format, .second = second, .output = format, .planes = {}, .sources = {{}}};
  for (int p = 0; p < video::plane_count(format.chroma); ++p) {
    PlaneGeometry geometry = plane_geometry(format, p);
    PlaneGeometry beside = second ? plane_geometry(*second, p) : geometry;
    if (samples == Samples::floats) geometry.gray = beside.gray = geometry.fill;
    const PlaneRequest request{.geometry = geometry,
                               .second = beside,
                               .planes = planes,
                               .chroma = p > 0,
                               .neutral = p >= video::held_planes(format),
                               .bits = format.bits,
                               .loads = samples != Samples::floats && format.form == video::SampleForm::codes,
                               .stores = samples == Samples::codes};
    auto layouts = PlaneBuilder(pipeline, request, frame.sources).build();
    if (!layouts) return std::unexpected(layouts.error());
    frame.planes.push_back(std::move(*layouts));
  }
  const Size luma = frame.planes[0].output.luma;
  frame.output.width = luma.width;
  frame.output.height = luma.height;
  const PlaneGeometry& shown = frame.planes[0].output;
  constexpr std::int64_t largest = std::numeric_limits<int>::max();
  if (shown.aspect_numerator <= largest && shown.aspect_denominator <= largest) {
    frame.output.aspect_numerator = static_cast<int>(shown.aspect_numerator);
    frame.output.aspect_denominator = static_cast<int>(shown.aspect_denominator);
  }
  if (format.is_interlaced() && makes_progressive(pipeline).back())
    frame.output.field_order = video::FieldOrder::progressive;
  frame.output.form = form_of_output(frame.planes, samples);
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
           return std::ranges::equal(left.stages, right.stages, alike);
         });
}

Result<PlaneLayout> lay_out_plane(const Pipeline& pipeline, const PlaneGeometry& geometry,
                                  const std::optional<PlaneGeometry>& second) {
  std::vector<SourceFrame> sources{{}};
  return PlaneBuilder(
             pipeline,
             {.geometry = geometry, .second = second.value_or(geometry), .loads = false, .stores = false},
             sources)
      .build();
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
