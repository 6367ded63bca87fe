#include "millrace/base/options/option_values.h"

#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/nearest_name.h"
#include "millrace/base/text/parse_number.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace {
namespace {

// Names of validators. Their descriptions are for values_of().
constexpr const char* range_name = "range";
constexpr const char* listed_name = "listed words";
constexpr const char* many_name = "many words";
constexpr const char* suggested_name = "suggested words";
constexpr const char* stages_name = "stages";
// Part of CLI11's name for the type of an option of bytes.
constexpr const char* bytes_type = "bytes";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_number(std::string_view text) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  return !digits.empty() && std::ranges::all_of(digits, is_digit);
}

// A bound above this is there for safety, and tells the user nothing.
constexpr std::int64_t largest_told = std::int64_t{1} << 30;

template <class Number> std::string range_text(Number least, Number most) {
  return most >= static_cast<Number>(largest_told) ? fmt::format("{} or more", least)
                                                   : fmt::format("{} to {}", least, most);
}

template <class Number> CLI::Validator range(Number least, Number most) {
  return {[least, most](const std::string& text) -> std::string {
            const auto number = parse_number<Number>(text);
            if (!number) {
              if (is_number(text))
                return fmt::format("{} is out of range; give {}", text, range_text(least, most));
              return text.empty() ? "" : fmt::format("{} is not a number", in_quotes(text));
            }
            if (*number > most && *number >= least)
              return fmt::format("{} is out of range; give at most {}", text, most);
            if (!(*number >= least))
              return fmt::format("{} is out of range; give {}", text, range_text(least, most));
            return "";
          },
          range_text(least, most), range_name};
}

bool is_in(const OptionWords& words, const std::string& text) {
  return std::ranges::find(words, text) != words.end();
}

CLI::Validator words_check(OptionWords words, OptionWords also, const char* name) {
  const std::string description = fmt::format("{}", fmt::join(words, "\n"));
  return {[words = std::move(words), also = std::move(also)](const std::string& text) -> std::string {
            if (text.empty() || is_in(words, text) || is_in(also, text)) return "";
            const std::vector<std::string_view> names(words.begin(), words.end());
            const std::string guess = did_you_mean(text, names);
            return fmt::format("unknown value {}{}", in_quotes(text),
                               guess.empty() ? "; use " + one_among(names) : guess);
          },
          description, name};
}

CLI::Validator suggested(const OptionWords& words, const char* name) {
  return {[](const std::string&) { return std::string(); }, fmt::format("{}", fmt::join(words, "\n")), name};
}

// The number of bytes that a unit stands for: "", "k", "KB", "MiB".
std::optional<double> unit_of(std::string unit) {
  std::ranges::transform(unit, unit.begin(), [](unsigned char c) { return std::tolower(c); });
  if (unit.ends_with("ib"))
    unit.resize(unit.size() - 2);
  else if (unit.ends_with('b'))
    unit.resize(unit.size() - 1);
  if (unit.empty()) return 1;
  constexpr std::string_view letters = "kmgtpe";
  const std::size_t power = letters.find(unit);
  if (unit.size() != 1 || power == std::string_view::npos) return std::nullopt;
  return std::pow(1024.0, static_cast<double>(power + 1));
}

std::string read_bytes(std::string& text, std::uint64_t least, std::uint64_t most) {
  if (text.empty()) return "";
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = parse_number<double>(std::string_view(text).substr(0, digits));
  const auto unit = unit_of(text.substr(digits));
  if (!number || !unit) return fmt::format("{} is not a size; write 500M or 2G", in_quotes(text));
  const double bytes = std::round(*number * *unit);
  if (!(bytes < 0x1p63)) return fmt::format("{} is too large; give at most {}", text, most);
  // Exact even above 2^53.
  const std::uint64_t value = parse_number<std::uint64_t>(text).value_or(static_cast<std::uint64_t>(bytes));
  if (value > most) return fmt::format("{} is too large; give at most {}", text, most);
  if (value < least) return fmt::format("{} is too small; give at least {}", text, least);
  text = fmt::format("{}", value);
  return "";
}

// Explains text that is not a number of the option's type.
std::string check_number(std::string& text, bool whole) {
  if (text.empty()) return "";
  if (std::string error = make_decimal(text); !error.empty()) return error;
  if (whole ? is_number(text) : parse_number<double>(text).has_value()) return "";
  return fmt::format("{} is not a {}number", in_quotes(text), whole ? "whole " : "");
}

}  // namespace

std::string one_among(std::span<const std::string_view> names) {
  if (names.size() < 2) return names.empty() ? "" : std::string(names.front());
  return fmt::format("{} or {}", fmt::join(names.first(names.size() - 1), ", "), names.back());
}

CLI::Validator whole_between(std::int64_t least, std::int64_t most) { return range(least, most); }
CLI::Validator real_between(double least, double most) { return range(least, most); }

CLI::Validator above_zero() {
  return {[](const std::string& text) {
            const auto number = parse_number<double>(text);
            return text.empty() || (number && *number > 0)
                       ? ""
                       : fmt::format("{} is not a number above 0", in_quotes(text));
          },
          "above 0", range_name};
}

CLI::Validator not_negative() {
  return {[](const std::string& text) -> std::string {
            if (!text.empty() && !parse_number<double>(text))
              return fmt::format("{} is not a number", in_quotes(text));
            return text.starts_with('-') ? fmt::format("{} is below 0; give 0 or more", text) : "";
          },
          "0 or more", range_name};
}

CLI::Validator byte_count(std::uint64_t least, std::uint64_t most) {
  return {[least, most](std::string& text) { return read_bytes(text, least, most); }, bytes_type};
}

CLI::Validator one_of(OptionWords words, OptionWords also) {
  return words_check(std::move(words), std::move(also), listed_name);
}

CLI::Validator one_of_many(OptionWords words, OptionWords also) {
  return words_check(std::move(words), std::move(also), many_name);
}

CLI::Validator suggest(const OptionWords& words) { return suggested(words, suggested_name); }
CLI::Validator suggest_stages(const OptionWords& words) { return suggested(words, stages_name); }

namespace {

// The option's validator of this name; nullptr if it has none.
const CLI::Validator* find_validator(CLI::Option& option, const char* name) {
  try {
    return option.get_validator(name);
  } catch (const CLI::OptionNotFound&) {
    return nullptr;
  }
}

OptionWords lines_of(const std::string& text) {
  OptionWords lines;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t to = std::min(text.find('\n', from), text.size());
    lines.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return lines;
}

}  // namespace

ShownValues values_of(CLI::Option& option) {
  ShownValues shown;
  if (const auto* const found = find_validator(option, range_name)) shown.range = found->get_description();
  for (const char* name : {listed_name, many_name, suggested_name, stages_name}) {
    const auto* const found = find_validator(option, name);
    if (found == nullptr) continue;
    shown.words = lines_of(found->get_description());
    shown.are_listed = name == listed_name;
    shown.are_stages = name == stages_name;
  }
  return shown;
}

std::string make_decimal(std::string& text) {
  const std::string sign = text.starts_with('-') ? "-" : "";
  std::string number = text.substr(sign.size());
  if (number.size() > 1 && number[0] == '0' && std::isalpha(static_cast<unsigned char>(number[1])) != 0)
    return fmt::format("{} is not a decimal number", text);
  while (number.size() > 1 && number[0] == '0' && is_digit(number[1]))
    number.erase(0, 1);
  if (number.empty() || !is_digit(number[0])) return {};
  text = sign + number;
  if (is_number(text) && !parse_number<std::int64_t>(text) && !parse_number<std::uint64_t>(text))
    return fmt::format("{} is too large", text);
  return {};
}

void read_decimals(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (type.ends_with(bytes_type)) continue;
    const bool whole = type.starts_with("INT") || type.starts_with("UINT");
    if (whole || type.starts_with("FLOAT"))
      option->transform(
          CLI::Validator([whole](std::string& text) { return check_number(text, whole); }, "", ""));
  }
  for (CLI::App* verb : app.get_subcommands([](CLI::App*) { return true; }))
    read_decimals(*verb);
}

}  // namespace millrace
