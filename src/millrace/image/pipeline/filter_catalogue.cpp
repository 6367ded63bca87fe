#include "millrace/image/pipeline/filter_catalogue.h"

#include "millrace/image/filter/arguments.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace millrace::image {
namespace {

constexpr std::size_t terminal_width = 80;
constexpr std::size_t widest_label = 32;  // longer labels get a line of their own

// As written in a pipeline: threshold(t, keep=above).
std::string signature(const Filter& filter) {
  std::string text(filter.name);
  std::string_view before = "(";
  for (const Parameter& parameter : filter.parameters) {
    text += fmt::format("{}{}", before, parameter.name);
    before = ", ";
    if (!parameter.required) text += "=" + written_value(parameter, parameter.fallback);
  }
  if (!filter.parameters.empty()) text += ')';
  return text;
}

// The accepted values, with their unit.
std::string range(const Parameter& parameter) {
  if (parameter.type == ParameterType::choice || parameter.type == ParameterType::list)
    return expectation(parameter);
  return fmt::format("{} to {}{}{}{}", parameter.minimum, parameter.maximum,
                     parameter.unit.empty() ? "" : " ", parameter.unit,
                     parameter.type == ParameterType::integer ? ", whole" : "");
}

// The label, then the description from `column` on, wrapped between words to the terminal's width.
std::string catalogue_entry(const std::string& label, std::string_view description, std::size_t column) {
  std::string text;
  std::string line = label;
  const auto end_line = [&] {
    text += line + '\n';
    line.clear();
  };
  if (line.size() + 2 > column) end_line();
  bool first_word = true;
  while (!description.empty()) {
    const std::size_t end = std::min(description.find(' '), description.size());
    const std::string_view word = description.substr(0, end);
    description.remove_prefix(std::min(end + 1, description.size()));
    if (!first_word && line.size() + 1 + word.size() > terminal_width) {
      end_line();
      first_word = true;
    }
    if (first_word) {
      line.resize(column, ' ');
    } else {
      line += ' ';
    }
    line += word;
    first_word = false;
  }
  end_line();
  return text;
}

// What users see of ChromaDefault; that chroma is filtered like luma is not mentioned.
std::string_view chroma_text(ChromaDefault chroma) {
  switch (chroma) {
  case ChromaDefault::filtered:
    return "";
  case ChromaDefault::passes:
    return "; chroma passes";
  case ChromaDefault::neutral:
    return "; chroma becomes neutral";
  }
  return "";
}

std::string_view name_of(ParameterType type) {
  switch (type) {
  case ParameterType::real:
    return "real";
  case ParameterType::integer:
    return "integer";
  case ParameterType::choice:
    return "choice";
  case ParameterType::list:
    return "list";
  }
  return "real";
}

nlohmann::ordered_json parameter_json(const Parameter& parameter) {
  nlohmann::ordered_json json{{"name", parameter.name},
                              {"summary", parameter.summary},
                              {"type", name_of(parameter.type)},
                              {"required", parameter.required}};
  // Integers stay integers in JSON.
  const auto number = [&](double value) {
    return parameter.type == ParameterType::integer ? nlohmann::ordered_json(static_cast<std::int64_t>(value))
                                                    : nlohmann::ordered_json(value);
  };
  if (parameter.type == ParameterType::choice) {
    json["choices"] = parameter.choices;
    if (!parameter.required) json["default"] = written_value(parameter, parameter.fallback);
    return json;
  }
  if (parameter.type == ParameterType::list) {
    json["least"] = parameter.least;
    json["most"] = parameter.most;
  }
  json["minimum"] = number(parameter.minimum);
  json["maximum"] = number(parameter.maximum);
  if (!parameter.unit.empty()) json["unit"] = parameter.unit;
  if (!parameter.required) json["default"] = number(parameter.fallback);
  return json;
}

}  // namespace

std::string catalogue_text(std::span<const Filter> filters, std::span<const Preset> named) {
  std::size_t widest = 0;
  for (const Filter& filter : filters) {
    const std::size_t length = signature(filter).size();
    if (length <= widest_label) widest = std::max(widest, length);
  }
  const std::size_t column = 2 + widest + 2;

  std::string text = "Filters\n\n";
  for (const Filter& filter : filters) {
    std::string summary(filter.summary);
    if (filter.inputs > 1) summary += fmt::format(" ({} inputs)", filter.inputs);
    summary += chroma_text(filter.chroma);
    text += catalogue_entry("  " + signature(filter), summary, column);
    for (const Parameter& parameter : filter.parameters) {
      text += catalogue_entry(fmt::format("    {}", parameter.name),
                              fmt::format("{}: {}", parameter.summary, range(parameter)), column);
    }
  }
  text += "\nPresets\n\n";
  for (const Preset& preset : named)
    text += catalogue_entry(fmt::format("  {}", preset.name), preset.text, 6);
  return text;
}

nlohmann::ordered_json catalogue_json(std::span<const Filter> filters, std::span<const Preset> named) {
  auto filters_json = nlohmann::ordered_json::array();
  for (const Filter& filter : filters) {
    auto parameters = nlohmann::ordered_json::array();
    for (const Parameter& parameter : filter.parameters)
      parameters.push_back(parameter_json(parameter));
    filters_json.push_back({{"name", filter.name},
                            {"summary", filter.summary},
                            {"inputs", filter.inputs},
                            {"geometric", filter.geometric},
                            {"chroma", name_of(filter.chroma)},
                            {"parameters", std::move(parameters)}});
  }
  auto presets_json = nlohmann::ordered_json::array();
  for (const Preset& preset : named)
    presets_json.push_back({{"name", preset.name}, {"pipeline", preset.text}});
  return {{"filters", std::move(filters_json)}, {"presets", std::move(presets_json)}};
}

}  // namespace millrace::image
