#include "millrace/api/own_filters.h"

#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/printable.h"
#include "millrace/image/filter/formula_filter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace millrace::api {
namespace {

using nlohmann::json;

constexpr std::array chroma_defaults{image::ChromaDefault::filtered, image::ChromaDefault::passes,
                                     image::ChromaDefault::neutral};

// Above the limit of a filter, which refuses it with its own message.
constexpr double any_frame = 1 << 20;

struct ParameterWord {
  std::string_view word;
  image::ParameterType type;
};
constexpr std::array parameter_types{ParameterWord{"real", image::ParameterType::real},
                                     ParameterWord{"integer", image::ParameterType::integer},
                                     ParameterWord{"list", image::ParameterType::list}};

// The member of an object, or a default. nlohmann's exceptions report wrong types.
template <class T> T member(const json& object, const char* name, T without) {
  const auto found = object.find(name);
  return found == object.end() ? std::move(without) : found->get<T>();
}

Result<image::FormulaParameter> read_parameter(const json& told) {
  image::FormulaParameter parameter{.name = told.at("name").get<std::string>(),
                                    .summary = member<std::string>(told, "summary", ""),
                                    .unit = member<std::string>(told, "unit", ""),
                                    .minimum = told.at("minimum").get<double>(),
                                    .maximum = told.at("maximum").get<double>()};
  const auto type = member<std::string>(told, "type", "real");
  const auto* const known = std::ranges::find(parameter_types, type, &ParameterWord::word);
  if (known == parameter_types.end())
    return usage_error("parameter {} is real, integer or list, not {}", in_quotes(parameter.name),
                       in_quotes(type));
  parameter.type = known->type;
  if (told.contains("default")) parameter.fallback = told.at("default").get<double>();
  return parameter;
}

Result<image::FilterRef> read_filter(const json& told) {
  image::FormulaFilterDraft draft{.name = told.at("name").get<std::string>(),
                                  .summary = member<std::string>(told, "summary", "")};
  const auto wrong = [&](const Error& error) {
    return std::unexpected(
        Error{error.kind, fmt::format("filter {}: {}", in_quotes(draft.name), error.message)});
  };
  const auto chroma = member<std::string>(told, "chroma", std::string(name_of(draft.chroma)));
  const auto* const known =
      std::ranges::find(chroma_defaults, chroma, [](image::ChromaDefault one) { return name_of(one); });
  if (known == chroma_defaults.end())
    return usage_error("filter {}: chroma is filtered, passes or neutral, not {}", in_quotes(draft.name),
                       in_quotes(chroma));
  draft.chroma = *known;
  for (const json& one : member<json>(told, "parameters", json::array())) {
    auto parameter = read_parameter(one);
    if (!parameter) return wrong(parameter.error());
    draft.parameters.push_back(std::move(*parameter));
  }
  const auto size = member<json>(told, "size", json::object());
  for (const auto& [formula, of, name] :
       {std::tuple{&draft.formula, &told, "formula"}, std::tuple{&draft.measure.width, &size, "width"},
        std::tuple{&draft.measure.height, &size, "height"}}) {
    if (of == &size && size.empty()) continue;
    auto parsed = image::Formula::parse(of->at(name).get<std::string>());
    if (!parsed) return wrong(parsed.error());
    *formula = std::make_shared<const image::Formula>(std::move(*parsed));
  }
  draft.table = member<std::vector<float>>(told, "table", {});
  for (const json& time : member<json>(told, "frames", json::array())) {
    if (!time.is_number()) return usage_error("filter {}: frames are whole numbers", in_quotes(draft.name));
    const double distance = time.get<double>();
    if (distance != std::floor(distance))
      return usage_error("filter {}: frames are whole numbers, not {}", in_quotes(draft.name), distance);
    draft.times.push_back(static_cast<int>(std::clamp(distance, -any_frame, any_frame)));
  }
  draft.geometric = member(told, "geometric", false);
  return image::make_formula_filter(std::move(draft));
}

}  // namespace

Result<std::vector<image::FilterRef>> read_own_filters(std::string_view text) {
  std::vector<image::FilterRef> filters;
  try {
    const json told = json::parse(text);
    if (!told.is_array()) return usage_error("filters are told as an array of JSON");
    for (const json& one : told) {
      auto filter = read_filter(one);
      if (!filter) return std::unexpected(filter.error());
      filters.push_back(std::move(*filter));
    }
  } catch (const json::exception& error) {
    return usage_error("what filters there are cannot be read: {}", printable(error.what()));
  }
  return filters;
}

}  // namespace millrace::api
