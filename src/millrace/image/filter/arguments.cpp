#include "millrace/image/filter/arguments.h"

#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/nearest_name.h"
#include "millrace/base/text/parse_number.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace::image {
namespace {

std::vector<std::string_view> parameter_names(const Filter& filter) {
  std::vector<std::string_view> names;
  names.reserve(filter.parameters.size());
  for (const Parameter& parameter : filter.parameters)
    names.push_back(parameter.name);
  return names;
}

// Accepts a leading + or -.
std::optional<double> parse_signed(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  return parse_number<double>(text);
}

}  // namespace

Arguments::Arguments(const Filter& filter) : filter_(&filter), values_(filter.parameters.size()) {}

Result<std::size_t> Arguments::find(std::string_view name) const {
  const std::vector<std::string_view> names = parameter_names(*filter_);
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  if (names.empty()) return usage_error("{} takes no parameters, so not {}", filter_->name, in_quotes(name));
  return usage_error("{} has no parameter {}{} (it takes {})", filter_->name, in_quotes(name),
                     did_you_mean(name, names), fmt::join(names, ", "));
}

Status Arguments::check_position(std::size_t index) const {
  const std::size_t count = values_.size();
  if (index < count) return {};
  if (count == 0) return usage_error("{} takes no parameters; leave the parentheses empty", filter_->name);
  return usage_error("{} takes {} parameter{} ({}), not {}", filter_->name, count, count == 1 ? "" : "s",
                     fmt::join(parameter_names(*filter_), ", "), index + 1);
}

Status Arguments::set_number(std::size_t index, double value, std::string_view written) {
  const Parameter& parameter = filter_->parameters[index];
  const bool takes_number = parameter.type == ParameterType::real || parameter.type == ParameterType::integer;
  const bool fits = takes_number && std::isfinite(value) && value >= parameter.minimum &&
                    value <= parameter.maximum &&
                    (parameter.type != ParameterType::integer || value == std::trunc(value));
  if (!fits) return std::unexpected(wrong_value(index, written));
  return set(index, value == 0 ? 0.0 : value);  // -0 becomes 0, so that equal pipelines have one spelling
}

Status Arguments::set_choice(std::size_t index, std::string_view name) {
  const Parameter& parameter = filter_->parameters[index];
  const auto found = std::ranges::find(parameter.choices, name);
  if (parameter.type != ParameterType::choice || found == parameter.choices.end()) {
    Error error = wrong_value(index, name);
    error.message += did_you_mean(name, parameter.choices);
    return std::unexpected(std::move(error));
  }
  return set(index, static_cast<double>(found - parameter.choices.begin()));
}

Status Arguments::set_list(std::size_t index, const std::vector<double>& numbers, std::string_view written) {
  const Parameter& parameter = filter_->parameters[index];
  const bool fits = parameter.type == ParameterType::list && numbers.size() >= parameter.least &&
                    numbers.size() <= parameter.most && std::ranges::all_of(numbers, [&](double number) {
                      return number >= parameter.minimum && number <= parameter.maximum;
                    });
  if (!fits) return std::unexpected(wrong_value(index, written));
  Status given = set(index, 0);
  if (!given) return given;
  for (const double number : numbers)
    list_.push_back(number == 0 ? 0.0 : number);
  return {};
}

Status Arguments::set_text(std::size_t index, std::string_view text) {
  if (filter_->parameters[index].type == ParameterType::choice) return set_choice(index, text);
  if (filter_->parameters[index].type == ParameterType::list)
    return std::unexpected(wrong_value(index, text));
  const std::optional<double> value = parse_signed(text);
  if (!value) return std::unexpected(wrong_value(index, text));
  return set_number(index, *value, text);
}

Error Arguments::wrong_value(std::size_t index, std::string_view written) const {
  const Parameter& parameter = filter_->parameters[index];
  return {ErrorKind::usage, fmt::format("{}: {} must be {}, not {}", filter_->name, parameter.name,
                                        expectation(parameter), in_quotes(written))};
}

Result<ParameterValues> Arguments::complete() const {
  ParameterValues complete;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Parameter& parameter = filter_->parameters[i];
    if (!values_[i] && parameter.required) {
      return usage_error("{}: {} is missing ({}); it must be {}", filter_->name, parameter.name,
                         parameter.summary, expectation(parameter));
    }
    if (parameter.type == ParameterType::list)
      complete.insert(complete.end(), list_.begin(), list_.end());
    else
      complete.push_back(values_[i].value_or(parameter.fallback));
  }
  return complete;
}

Status Arguments::set(std::size_t index, double value) {
  if (values_[index]) {
    return usage_error("{}: {} is given twice; keep one of them", filter_->name,
                       filter_->parameters[index].name);
  }
  values_[index] = value;
  return {};
}

std::string expectation(const Parameter& parameter) {
  if (parameter.type == ParameterType::choice) return fmt::format("{}", fmt::join(parameter.choices, " or "));
  if (parameter.type == ParameterType::list) {
    const std::string count = parameter.least == parameter.most
                                  ? fmt::format("{}", parameter.least)
                                  : fmt::format("{} to {}", parameter.least, parameter.most);
    return fmt::format("{} numbers from {} to {} in brackets, as in [1, 2, 1]", count, parameter.minimum,
                       parameter.maximum);
  }
  // Many parameters are named after their unit: "degrees must be a number from -360 to 360" says it once.
  const bool say_unit = !parameter.unit.empty() && parameter.unit != parameter.name;
  return fmt::format("a {} from {} to {}{}{}",
                     parameter.type == ParameterType::integer ? "whole number" : "number", parameter.minimum,
                     parameter.maximum, say_unit ? " " : "", say_unit ? parameter.unit : "");
}

std::string written_value(const Parameter& parameter, double value) {
  if (parameter.type == ParameterType::choice) return std::string(parameter.choices[value]);
  return fmt::format("{}", value);
}

std::string written_argument(const Filter& filter, std::size_t index, const ParameterValues& values) {
  const Parameter& parameter = filter.parameters[index];
  if (parameter.type != ParameterType::list) return written_value(parameter, values[index]);
  return fmt::format("[{}]", fmt::join(std::span(values).subspan(index), ", "));
}

bool is_default(const Parameter& parameter, double value) {
  return !parameter.required && value == parameter.fallback;
}

}  // namespace millrace::image
