// Values of options: checked when they are given, listed by --help, offered by shell completion.
//
//   verb.add_option("--threads", threads, "Worker threads")->check(between(1, 4096));
//   verb.add_option("--fusion", fusion, "Stages that are fused")->option_text("NAME")->check(one_of({"none",
//   "all"})); verb.add_option("--memory", memory, "Memory
//   budget")->option_text("SIZE")->transform(byte_count(1, 1 << 30));
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace millrace {

using OptionWords = std::vector<std::string>;

// Numbers from `least` to `most`.
[[nodiscard]] CLI::Validator whole_between(std::int64_t least, std::int64_t most);
[[nodiscard]] CLI::Validator real_between(double least, double most);
template <class Number> [[nodiscard]] CLI::Validator between(Number least, Number most) {
  if constexpr (std::floating_point<Number>)
    return real_between(least, most);
  else
    return whole_between(static_cast<std::int64_t>(least), static_cast<std::int64_t>(most));
}
[[nodiscard]] CLI::Validator above_zero();
[[nodiscard]] CLI::Validator not_negative();

// A size in bytes from `least` to `most`: 4096, 64K, 1.5G, 2GiB. K is 1024 bytes. The option receives the
// number in decimal. Use it with transform().
[[nodiscard]] CLI::Validator byte_count(std::uint64_t least, std::uint64_t most);

// One of these words. --help lists them. `also` are accepted too, but not shown.
[[nodiscard]] CLI::Validator one_of(OptionWords words, OptionWords also = {});
// As one_of(), but too many for --help to list.
[[nodiscard]] CLI::Validator one_of_many(OptionWords words, OptionWords also = {});
// Any value. Shell completion offers these words.
[[nodiscard]] CLI::Validator suggest(const OptionWords& words);
// A filter pipeline. Shell completion offers these words for each of its stages.
[[nodiscard]] CLI::Validator suggest_stages(const OptionWords& words);

// -y, which the outputs of every program need to replace existing files.
inline CLI::Option* add_overwrite_flag(CLI::App& verb, bool& overwrite) {
  return verb.add_flag("-y,--force", overwrite, "Overwrite existing outputs");
}

// The names of all `values`, for example of an enumeration.
template <class Values> [[nodiscard]] OptionWords names_of(const Values& values) {
  OptionWords names;
  for (const auto& value : values)
    names.emplace_back(name_of(value));
  return names;
}

// "list, show or clear"
[[nodiscard]] std::string one_among(std::span<const std::string_view> names);

// The values that an option takes.
struct ShownValues {
  std::string range;        // "1 to 64"; empty if there is none
  OptionWords words;        // empty if there are none
  bool are_listed = false;  // by --help
  bool are_stages = false;  // of a filter pipeline
};
[[nodiscard]] ShownValues values_of(CLI::Option& option);

// Checks that the values of all numeric options of the program and its verbs are decimal numbers. CLI11 alone
// reads "010" as 8 and "0x10" as 16, and clamps values that are too large.
void read_decimals(CLI::App& app);
// Removes leading zeros. Returns an error message, or "" if there is none.
[[nodiscard]] std::string make_decimal(std::string& text);

}  // namespace millrace
