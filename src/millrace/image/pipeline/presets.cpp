#include "millrace/image/pipeline/presets.h"

#include "millrace/base/text/in_quotes.h"
#include "millrace/image/pipeline/pipeline_language.h"
#include "millrace/image/pipeline/pipeline_toml.h"

#include <algorithm>
#include <array>
#include <string>

namespace millrace::image {
namespace {

constexpr std::array<Preset, 7> paper_pipelines{{
    {.name = "@A", .text = "blur | [sobel_x, sobel_y] | magnitude | threshold(0.1)"},
    {.name = "@B", .text = "undistort(-0.12) | rotate(6) | crop(0.8)"},
    {.name = "@C", .text = "undistort(-0.12) | rotate(60) | crop(0.8)"},
    {.name = "@D", .text = "discretise(8) | threshold(0.5) | binary"},
    {.name = "@E", .text = "threshold(0.5) | binary | rotate(30)"},
    {.name = "@F", .text = "threshold(0.5) | rotate(30) | binary"},
    {.name = "@G", .text = "rotate(30) | threshold(0.5) | binary"},
}};

constexpr std::array<std::string_view, 4> toml_words{"filter", "name", "input", "inputs"};

}  // namespace

std::span<const Preset> presets() { return paper_pipelines; }

Result<Pipeline> load_pipeline(std::string_view argument, const std::stop_token& stop,
                               std::span<const FilterRef> own) {
  if (argument.starts_with('@')) {
    const auto* const preset = std::ranges::find(paper_pipelines, argument, &Preset::name);
    if (preset != paper_pipelines.end()) return parse_pipeline(preset->text);
    return usage_error("unknown preset {}; the presets are {} to {}, and a pipeline is either one of them or "
                       "a list of filters",
                       in_quotes(argument), paper_pipelines.front().name, paper_pipelines.back().name);
  }
  if (argument.ends_with(".toml")) return read_pipeline_toml(std::string(argument), stop, own);
  return parse_pipeline(argument, own);
}

Status check_own_filters(std::span<const FilterRef> own) {
  for (std::size_t i = 0; i < own.size(); ++i) {
    const std::string_view name = own[i]->name;
    if (name == identity_branch || name == second_video)
      return usage_error(
          "a filter cannot be called '{}', which is a branch of a pipeline; choose another name", name);
    if (find_filter(name) != nullptr)
      return usage_error("there is a filter '{}' already; give the one of your own another name", name);
    for (std::size_t other = 0; other < i; ++other) {
      if (own[other]->name == name)
        return usage_error("two filters are called '{}'; give one of them another name", name);
    }
    for (const Parameter& parameter : own[i]->parameters) {
      if (std::ranges::find(toml_words, parameter.name) != toml_words.end())
        return usage_error(
            "a parameter of filter '{}' cannot be called '{}', which TOML files use for stages", name,
            parameter.name);
    }
  }
  return {};
}

}  // namespace millrace::image
