// Command-line parsing shared by all programs.
#pragma once

#include "millrace/base/error_line.h"
#include "millrace/base/in_quotes.h"
#include "millrace/base/nearest_name.h"
#include "millrace/base/parse_number.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace millrace {

// Normalizes a whole number, optionally followed by a unit, to decimal. CLI11 alone reads "010" as 8 and
// "0x10" as 16, and clamps values that are too large. Strips leading zeros from `text`. Returns an error
// message, or "" if there is none. Text that is not a number is left to CLI11.
inline std::string make_decimal(std::string& text) {
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  const std::string sign = text.starts_with('-') ? "-" : "";
  std::string number = text.substr(sign.size());
  if (number.size() > 1 && number[0] == '0' && std::isalpha(static_cast<unsigned char>(number[1])) != 0)
    return fmt::format("{} is not a decimal number", text);
  while (number.size() > 1 && number[0] == '0' && is_digit(number[1]))
    number.erase(0, 1);
  if (number.empty() || !is_digit(number[0])) return {};
  text = sign + number;
  const bool whole = std::ranges::all_of(number, is_digit);
  if (whole && !parse_number<std::int64_t>(text) && !parse_number<std::uint64_t>(text))
    return fmt::format("{} is too large", text);
  return {};
}

// Makes all integer options of the program and its verbs decimal.
inline void read_decimals(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (type.starts_with("INT") || type.starts_with("UINT"))
      option->transform(CLI::Validator(make_decimal, ""));
  }
  for (CLI::App* verb : app.get_subcommands([](CLI::App*) { return true; }))
    read_decimals(*verb);
}

// Number checks. CLI11's own validators print the largest double in 309 digits.
inline CLI::Validator above_zero() {
  return {[](const std::string& text) {
            const auto number = parse_number<double>(text);
            return number && *number > 0 ? std::string() : fmt::format("{} is not a number above 0", text);
          },
          ""};
}
inline CLI::Validator not_negative() {
  return {[](const std::string& text) {
            return text.starts_with('-') ? fmt::format("{} is below 0", text) : std::string();
          },
          ""};
}

// The message for an unknown verb, if that is the error.
inline std::optional<std::string> wrong_verb(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining();
  if (app.get_require_subcommand_min() == 0 || !app.get_subcommands().empty() || words.empty() ||
      words.front().starts_with('-'))
    return std::nullopt;
  std::vector<std::string_view> verbs;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    verbs.push_back(verb->get_name());
  return fmt::format("there is no verb {}{}", in_quotes(words.front()), did_you_mean(words.front(), verbs));
}

// The most specific help: that of the verb, if one was given.
inline std::string nearest_help(const CLI::App& app, std::string_view program, std::string_view help) {
  std::string words(program);
  const CLI::App* deepest = &app;
  while (!deepest->get_subcommands().empty()) {
    deepest = deepest->get_subcommands().front();
    words += " " + deepest->get_name();
  }
  return deepest == &app ? std::string(help) : words + " --help";
}

// Finds an option that was given as "", for example from an unset shell variable. That is not the same as
// leaving the option out.
inline std::optional<std::string> option_without_value(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional() || option->count() == 0) continue;
    if (std::ranges::any_of(option->results(), &std::string::empty))
      return fmt::format("{}: the value is empty; give one, or leave the option out", option->get_name());
  }
  for (const CLI::App* verb : app.get_subcommands())
    if (auto found = option_without_value(*verb)) return found;
  return std::nullopt;
}

// Parses the arguments into `app`. Returns the exit code if the program must end now: 0 if only help or a
// version was requested, or 2 after a one-line error. The error names the wrong word and points to `help`.
[[nodiscard]] inline std::optional<int> read_command_line(CLI::App& app, int argc, char** argv,
                                                          std::string_view program, std::string_view help) {
  read_decimals(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return report_error(program,
                        {ErrorKind::usage, fmt::format("{}; see {}", wrong_verb(app).value_or(error.what()),
                                                       nearest_help(app, program, help))});
  }
  if (const auto empty = option_without_value(app)) return report_error(program, {ErrorKind::usage, *empty});
  return std::nullopt;
}

}  // namespace millrace
