#include "millrace/image/layout/plane_builder.h"

#include "millrace/image/filters/named_filters.h"
#include "millrace/image/layout/conversions.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace millrace::image {
namespace {

ChromaDefault treatment(const Filter& filter, PlaneRole role, Planes planes) {
  if (role == PlaneRole::luma && filter.luma_passes) return ChromaDefault::passes;
  if (role != PlaneRole::chroma || planes == Planes::all) return ChromaDefault::filtered;
  if (planes == Planes::automatic) return filter.chroma;
  return filter.geometric ? ChromaDefault::filtered : ChromaDefault::passes;
}

// The result of a node for a plane.
struct Made {
  int stage = StageLayout::source;  // that makes it; meaningless if neutral
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
  stage.coefficients = filter.simple().coefficients(geometry, {maximum});
  return stage;
}

// The stages that lead to `last`, renumbered, with `last` at the end. Bypassed filters can leave branches
// without a reader.
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

// Adds a stage and returns its result. The inputs have the same size and are not neutral. If a filter's
// inputs differ in size, each of its parts takes only one of them.
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
  stage.coefficients = filter->simple().coefficients(geometry, values);
  return Made{.stage = static_cast<int>(stages.size()) - 1, .geometry = *output};
}

// Lays out one plane from the output backwards. For each node it makes the result for each plane and time
// offset that is requested, once. If a plane reads other planes, these are laid out for each reader
// separately.
class PlaneBuilder {
 public:
  PlaneBuilder(const Pipeline& pipeline, const PlaneRequest& request)
      : pipeline_(pipeline), request_(request), sources_{{.plane = request.plane}} {}

  Result<PlaneLayout> build() {
    PlaneLayout layout{.source = request_.video.at(static_cast<std::size_t>(request_.plane))};
    if (converts(request_.forms, request_.plane)) layout.source_type = element_type();
    if (converts(request_.made, request_.plane)) {
      layout.output_type = element_type();
      layout.neutral = static_cast<float>(1 << (request_.bits - 1));
    }
    const auto last = made_by(static_cast<int>(pipeline_.nodes.size()) - 1, 0, request_.plane);
    if (!last) return std::unexpected(last.error());
    layout.output = last->geometry;
    if (last->neutral) return layout;
    int output = last->stage;
    const bool stores = converts(request_.made, request_.plane);
    if (stores || StageLayout::is_source(output)) {
      const Filter& filter = stores ? store_filter(layout.output_type) : copy_filter();
      output = static_cast<int>(stages_.size());
      stages_.push_back(conversion(filter, last->stage, last->geometry, maximum()));
    }
    layout.stages = leading_to(output, std::move(stages_));
    layout.sources = sources_;
    layout.places.resize(sources_.size());
    std::iota(layout.places.begin(), layout.places.end(), 0);
    return with_work_on_codes(std::move(layout), request_.changing);
  }

 private:
  [[nodiscard]] double maximum() const { return (1 << request_.bits) - 1; }
  [[nodiscard]] bool converts(const video::SampleForms& forms, int plane) const {
    return request_.bits > 0 && forms.at(static_cast<std::size_t>(plane)) != video::SampleForm::numbers;
  }
  [[nodiscard]] ElementType element_type() const {
    return request_.bits > 8 ? ElementType::u16 : ElementType::u8;
  }

  Result<Made> made_by(int node, int offset, int plane) {
    const auto known = made_.find({node, offset, plane});
    if (known != made_.end()) return known->second;
    auto made = Node::is_video(node)
                    ? source_frame({.offset = offset, .second = node == Node::second, .plane = plane})
                : pipeline_.nodes[node].filter->if_mixing() != nullptr ? mixed(node, offset, plane)
                                                                       : computed(node, offset, plane);
    if (made) made_.emplace(std::tuple{node, offset, plane}, *made);
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
              .geometry =
                  (frame.second ? request_.second : request_.video).at(static_cast<std::size_t>(frame.plane)),
              .neutral =
                  request_.forms.at(static_cast<std::size_t>(frame.plane)) == video::SampleForm::nothing};
    if (converts(request_.forms, frame.plane)) {
      stages_.push_back(conversion(load_filter(element_type()), made.stage, made.geometry, maximum()));
      made.stage = static_cast<int>(stages_.size()) - 1;
    }
    return made;
  }

  Result<Made> computed(int n, int offset, int plane) {
    const Node& node = pipeline_.nodes[n];
    const auto first = made_by(node.inputs[0], offset, plane);
    if (!first) return first;
    const PlaneRole role = first->geometry.role;
    if (role == PlaneRole::rgb && node.filter->luma_passes)
      return usage_error("{}: works on chroma, and its input is RGB; put rgb2yuv before it",
                         node.filter->name);
    const ChromaDefault treated = treatment(*node.filter, role, request_.planes);
    if (treated == ChromaDefault::passes) return first;
    std::vector<Made> inputs;
    for (int input : node.inputs) {
      auto made = made_by(input, offset, plane);
      if (!made) return made;
      if (made->geometry.role != role)
        return usage_error("{}: one of its inputs is RGB and another is not; put yuv2rgb or rgb2yuv into "
                           "one of the branches",
                           node.filter->name);
      inputs.push_back(*made);
    }
    const PlaneGeometry& geometry = inputs[0].geometry;
    const ComposedFilter* composed = node.filter->if_composed();
    const bool sizes_may_differ = composed != nullptr && composed->sizes_may_differ;
    for (const Made& input : inputs) {
      if (input.geometry.size != geometry.size && !sizes_may_differ) {
        return usage_error("{}: its inputs differ in size, {}x{} and {}x{}; {}", node.filter->name,
                           geometry.size.width, geometry.size.height, input.geometry.size.width,
                           input.geometry.size.height, way_to_one_size(node, inputs));
      }
    }
    auto output = node.filter->output(geometry, node.values);
    if (!output) return std::unexpected(output.error());
    if (treated == ChromaDefault::neutral || std::ranges::any_of(inputs, &Made::neutral))
      return Made{.geometry = *output, .neutral = true};
    if (composed != nullptr) return parts_of(*composed, n, offset, plane, inputs);
    return add_stage(node.filter, node.values, std::string(node.filter->name), n, inputs, stages_);
  }

  // Uses luma's sizes for every plane.
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
  Result<Made> parts_of(const ComposedFilter& composed, int n, int offset, int plane,
                        const std::vector<Made>& inputs) {
    const Node& node = pipeline_.nodes[n];
    const auto whole_input = [&](int k) -> Result<Made> {
      if (!composed.frames) return inputs.at(k);
      return made_by(node.inputs[0], offset + k - composed.frames(node.values).before, plane);
    };
    return add_parts(n, composed.parts(geometries_of(inputs), node.values), whole_input);
  }

  // A plane of a filter that combines planes of its input.
  Result<Made> mixed(int n, int offset, int plane) {
    const Node& node = pipeline_.nodes[n];
    std::vector<Made> planes;
    std::size_t count = 1;
    for (std::size_t p = 0; p < count; ++p) {
      auto made = made_by(node.inputs[0], offset, static_cast<int>(p));
      if (!made) return made;
      if (made->neutral) {  // both chroma planes are, or neither
        planes.resize(1);
        break;
      }
      count = made->geometry.role == PlaneRole::rgb ? 3 : request_.video.size();
      planes.push_back(*made);
    }
    const auto mix = node.filter->if_mixing()->mix(plane, geometries_of(planes), node.values);
    if (!mix) return std::unexpected(mix.error());
    auto made = add_parts(n, mix->parts, [&](int k) -> Result<Made> { return planes.at(k); });
    if (made) made->geometry = mix->output;
    return made;
  }

  static std::vector<PlaneGeometry> geometries_of(const std::vector<Made>& inputs) {
    std::vector<PlaneGeometry> geometries;
    for (const Made& input : inputs)
      geometries.push_back(input.geometry);
    return geometries;
  }

  // whole_input(k): the result that input -1-k of a part stands for.
  Result<Made> add_parts(int n, const std::vector<Part>& parts,
                         const std::function<Result<Made>(int)>& whole_input) {
    const Node& node = pipeline_.nodes[n];
    std::vector<Made> made;
    for (const Part& part : parts) {
      std::vector<Made> part_inputs;
      for (int input : part.inputs) {
        auto read = input < 0 ? whole_input(-1 - input) : Result<Made>(made.at(input));
        if (!read) return read;
        part_inputs.push_back(*read);
      }
      auto result =
          add_stage(part.filter, part.values, fmt::format("{}.{}", node.filter->name, part.filter->name), n,
                    part_inputs, stages_);
      if (!result) return result;
      made.push_back(*result);
      if (!request_.changing) made.back().stage = without_repetition(made.back().stage);
    }
    return made.back();
  }

  // Index of the last stage, or of an earlier equal part of the same filter, which then replaces it. Planes
  // made from several planes have such parts in common.
  int without_repetition(int last) {
    const StageLayout& stage = stages_.back();
    const auto end = stages_.end() - 1;
    const auto first = std::find_if(stages_.begin(), end, [&](const StageLayout& other) {
      return other.node == stage.node && other.filter == stage.filter && other.inputs == stage.inputs &&
             other.input == stage.input && other.output == stage.output &&
             other.coefficients == stage.coefficients;
    });
    if (first == end) return last;
    stages_.pop_back();
    return static_cast<int>(first - stages_.begin());
  }

  const Pipeline& pipeline_;
  const PlaneRequest& request_;
  std::vector<SourceFrame> sources_;
  std::vector<StageLayout> stages_;
  std::map<std::tuple<int, int, int>, Made> made_;  // by node, offset and plane
};

}  // namespace

Result<PlaneLayout> build_plane(const Pipeline& pipeline, const PlaneRequest& request) {
  return PlaneBuilder(pipeline, request).build();
}

}  // namespace millrace::image
