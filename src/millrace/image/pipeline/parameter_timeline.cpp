#include "millrace/image/pipeline/parameter_timeline.h"

#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/nearest_name.h"
#include "millrace/base/text/parse_number.h"
#include "millrace/image/filter/arguments.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace millrace::image {
namespace {

constexpr std::string_view form = "FRAME:STAGE.PARAMETER=VALUE, such as 300:rotate.degrees=60";

// Share of its range that a parameter must move before another schedule may be the best: 15 degrees for
// angles.
constexpr double clear_share = 1.0 / 48;

std::optional<std::int64_t> parse_frame(std::string_view text) {
  const auto frame = parse_number<std::int64_t>(text);
  return frame && *frame >= 0 ? frame : std::nullopt;
}

// The node named by "rotate" or "rotate#2".
Result<std::size_t> find_stage(const Pipeline& pipeline, std::string_view text) {
  const std::size_t mark = text.find('#');
  const std::string_view name = text.substr(0, mark);
  std::vector<std::size_t> found;
  std::vector<std::string_view> names;
  for (std::size_t n = 0; n < pipeline.nodes.size(); ++n) {
    names.push_back(pipeline.nodes[n].filter->name);
    if (names.back() == name) found.push_back(n);
  }
  if (found.empty())
    return usage_error("the pipeline has no stage {}{}", in_quotes(name), did_you_mean(name, names));
  if (mark == std::string_view::npos) {
    if (found.size() == 1) return found[0];
    return usage_error("the pipeline has {} stages {}; name one as {}#1 to {}#{}", found.size(), name, name,
                       name, found.size());
  }
  const auto number = parse_frame(text.substr(mark + 1));
  if (!number || *number < 1 || *number > std::ssize(found)) {
    return usage_error("{} is not one of the stages {}#1 to {}#{}", in_quotes(text), name, name,
                       found.size());
  }
  return found[*number - 1];
}

double clear_step(const Parameter& parameter) {
  return (parameter.maximum - parameter.minimum) * clear_share;
}

bool decides_where_to_read(const Node& node) {
  const SimpleFilter* simple = node.filter->if_simple();
  return simple != nullptr && simple->access == Access::gather;
}

}  // namespace

Result<ParameterChange> parse_parameter_change(const Pipeline& pipeline, std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::size_t equals = text.find('=', colon == std::string_view::npos ? 0 : colon);
  const std::size_t dot = text.find('.', colon == std::string_view::npos ? 0 : colon);
  if (colon == std::string_view::npos || equals == std::string_view::npos || dot > equals)
    return usage_error("{} is not {}", in_quotes(text), form);

  const std::string_view frames = text.substr(0, colon);
  const std::size_t range = frames.find("..");
  const auto first = parse_frame(frames.substr(0, range));
  const auto last = range == std::string_view::npos ? first : parse_frame(frames.substr(range + 2));
  if (!first || !last || *last < *first) {
    return usage_error("{}: {} is neither a frame number nor a range such as 100..200", in_quotes(text),
                       in_quotes(frames));
  }

  const auto node = find_stage(pipeline, text.substr(colon + 1, dot - colon - 1));
  if (!node) return usage_error("{}: {}", in_quotes(text), node.error().message);
  const Filter& filter = *pipeline.nodes[*node].filter;
  Arguments arguments(filter);
  const auto parameter = arguments.find(text.substr(dot + 1, equals - dot - 1));
  if (!parameter) return usage_error("{}: {}", in_quotes(text), parameter.error().message);
  if (filter.parameters[*parameter].type == ParameterType::list) {
    return usage_error("{}: {} is a list, which cannot change within a run", in_quotes(text),
                       filter.parameters[*parameter].name);
  }
  // The other parameters do not matter here; only this value is checked.
  if (Status set = arguments.set_text(*parameter, text.substr(equals + 1)); !set)
    return usage_error("{}: {}", in_quotes(text), set.error().message);
  for (std::size_t i = 0; i < filter.parameters.size(); ++i) {
    if (i == *parameter) continue;
    const ParameterValues& values = pipeline.nodes[*node].values;
    if (filter.parameters[i].type == ParameterType::list)
      static_cast<void>(
          arguments.set_list(i, {values.begin() + static_cast<std::ptrdiff_t>(i), values.end()}, ""));
    else
      static_cast<void>(arguments.set_text(i, written_value(filter.parameters[i], values[i])));
  }
  const auto values = arguments.complete();
  if (!values) return usage_error("{}: {}", in_quotes(text), values.error().message);
  if (*first != *last && filter.parameters[*parameter].type != ParameterType::real) {
    return usage_error("{}: {} has no values in between; give one frame instead of a range", in_quotes(text),
                       filter.parameters[*parameter].name);
  }
  return ParameterChange{
      .first = *first, .last = *last, .node = *node, .parameter = *parameter, .value = (*values)[*parameter]};
}

Result<ParameterTimeline> ParameterTimeline::make(const Pipeline& pipeline,
                                                  std::span<const std::string> changes) {
  ParameterTimeline timeline;
  timeline.pipeline_ = pipeline;
  for (const std::string& text : changes) {
    const auto change = parse_parameter_change(pipeline, text);
    if (!change) return std::unexpected(change.error());
    for (const ParameterChange& other : timeline.changes_) {
      const bool same = other.node == change->node && other.parameter == change->parameter;
      if (same && change->first <= other.last && other.first <= change->last) {
        return usage_error("{}: another change of the same parameter is under way in these frames",
                           in_quotes(text));
      }
    }
    timeline.changes_.push_back(*change);
  }
  std::ranges::sort(timeline.changes_, {}, &ParameterChange::first);
  return timeline;
}

bool ParameterTimeline::changes_at(std::int64_t frame) const {
  return std::ranges::any_of(changes_, [frame](const ParameterChange& change) {
    return change.first <= frame && frame <= change.last;
  });
}

Pipeline ParameterTimeline::at(std::int64_t frame) const {
  Pipeline pipeline = pipeline_;
  for (const ParameterChange& change : changes_) {
    if (change.first > frame) break;
    double& value = pipeline.nodes[change.node].values[change.parameter];
    if (frame >= change.last) {
      value = change.value;
    } else {
      const auto steps = static_cast<double>(change.last - change.first + 1);
      value += (change.value - value) * static_cast<double>(frame - change.first + 1) / steps;
    }
  }
  return pipeline;
}

std::int64_t ParameterTimeline::steady_frames() const {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < changes_.size(); ++i) {
    if (changes_[i].last > changes_[i].first) return 1;
    if (i > 0 && changes_[i].first > changes_[i - 1].first)
      least = std::min(least, changes_[i].first - changes_[i - 1].first);
  }
  return least;
}

std::vector<std::int64_t> ParameterTimeline::ends() const {
  std::vector<std::int64_t> frames;
  for (const ParameterChange& change : changes_)
    frames.push_back(change.last);
  std::ranges::sort(frames);
  return frames;
}

bool differs_for_schedules(const Pipeline& before, const Pipeline& after) {
  for (std::size_t n = 0; n < before.nodes.size(); ++n) {
    if (!decides_where_to_read(before.nodes[n])) continue;
    const auto& parameters = before.nodes[n].filter->parameters;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const double moved = std::abs(after.nodes[n].values[i] - before.nodes[n].values[i]);
      if (moved >= clear_step(parameters[i])) return true;
    }
  }
  return false;
}

std::string parameter_class(const Pipeline& pipeline) {
  std::string text;
  for (const Node& node : pipeline.nodes) {
    if (!decides_where_to_read(node)) continue;
    text += fmt::format("{}{}", text.empty() ? "" : " ", node.filter->name);
    const auto& parameters = node.filter->parameters;
    for (std::size_t i = 0; i < parameters.size(); ++i)
      text += fmt::format(":{}", std::lround(node.values[i] / clear_step(parameters[i])));
  }
  return text;
}

}  // namespace millrace::image
