// Parsers for the kernel's control group files. Pure functions of the content.
#include "millrace/base/text/parse_number.h"
#include "millrace/machine/limits/cgroup_limits.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace millrace::machine {
namespace {

constexpr std::string_view blanks = " \t\r\n";
constexpr double default_period_us = 100000;  // the kernel's default

// Splits at every `separator`. Empty pieces are kept; an empty text has no pieces.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    const auto end = text.find(separator);
    pieces.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return pieces;
}

std::vector<std::string> split_to_strings(std::string_view text, char separator) {
  const auto pieces = split(text, separator);
  return {pieces.begin(), pieces.end()};
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const auto start = text.find_first_not_of(blanks);
    if (start == std::string_view::npos) return words;
    text.remove_prefix(start);
    words.push_back(text.substr(0, text.find_first_of(blanks)));
    text.remove_prefix(words.back().size());
  }
}

std::optional<double> positive_number(std::string_view text) {
  const auto number = parse_number<std::int64_t>(text);
  if (!number || *number <= 0) return std::nullopt;
  return static_cast<double>(*number);
}

// mountinfo encodes blank, tab, newline and backslash as three octal digits: "\040".
std::string unescaped(std::string_view text) {
  constexpr std::size_t escape_length = 4;
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = 0;
    const std::string_view digits = text.substr(i).substr(0, escape_length);
    if (digits.size() == escape_length && digits[0] == '\\') {
      const auto [end, error] = std::from_chars(digits.data() + 1, digits.data() + escape_length, code, 8);
      if (error == std::errc{} && end == digits.data() + escape_length) {
        plain += static_cast<char>(code);
        i += escape_length - 1;
        continue;
      }
    }
    plain += text[i];
  }
  return plain;
}

}  // namespace

std::vector<CgroupMembership> parse_cgroup_memberships(std::string_view proc_self_cgroup) {
  std::vector<CgroupMembership> memberships;
  for (const std::string_view line : split(proc_self_cgroup, '\n')) {
    const auto first = line.find(':');
    if (first == std::string_view::npos) continue;
    const auto second = line.find(':', first + 1);  // a path may contain colons
    if (second == std::string_view::npos || !line.substr(second + 1).starts_with('/')) continue;
    memberships.push_back({split_to_strings(line.substr(first + 1, second - first - 1), ','),
                           std::string(line.substr(second + 1))});
  }
  return memberships;
}

// "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:1 - cgroup cgroup rw,cpu": see proc(5). The number of
// optional fields before the dash varies.
std::vector<CgroupMount> parse_cgroup_mounts(std::string_view proc_self_mountinfo) {
  constexpr std::ptrdiff_t fixed_fields = 6;
  std::vector<CgroupMount> mounts;
  for (const std::string_view line : split(proc_self_mountinfo, '\n')) {
    const auto fields = words_of(line);
    if (std::ssize(fields) < fixed_fields) continue;
    const auto dash = std::find(fields.begin() + fixed_fields, fields.end(), "-");
    if (fields.end() - dash < 4) continue;
    const std::string_view type = dash[1];
    if (type != "cgroup" && type != "cgroup2") continue;
    mounts.push_back({type == "cgroup2" ? 2 : 1, split_to_strings(dash[3], ','), unescaped(fields[3]),
                      unescaped(fields[4])});
  }
  return mounts;
}

Result<std::optional<double>> parse_cpu_max(std::string_view content) {
  const auto words = words_of(content);
  if (words.empty() || words.size() > 2) return failure("expected \"QUOTA PERIOD\" or \"max PERIOD\"");
  const auto period = words.size() == 2 ? positive_number(words[1]) : default_period_us;
  if (!period) return failure("\"{}\" is not a period in microseconds", words[1]);
  if (words[0] == "max") return std::optional<double>();
  const auto quota = positive_number(words[0]);
  if (!quota) return failure("\"{}\" is neither a quota in microseconds nor \"max\"", words[0]);
  return std::optional(*quota / *period);
}

Result<std::optional<double>> parse_cfs_quota(std::string_view quota_us, std::string_view period_us) {
  const auto quota_words = words_of(quota_us);
  const auto period_words = words_of(period_us);
  if (quota_words.size() != 1) return failure("expected one number of microseconds as the quota");
  if (quota_words[0] == "-1") return std::optional<double>();
  const auto quota = positive_number(quota_words[0]);
  if (!quota) return failure("\"{}\" is neither a quota in microseconds nor -1", quota_words[0]);
  const auto period = period_words.size() == 1 ? positive_number(period_words[0]) : std::nullopt;
  if (!period) return failure("the quota has no period in microseconds");
  return std::optional(*quota / *period);
}

std::optional<std::uint64_t> parse_memory_limit(std::string_view content) {
  constexpr std::uint64_t beyond_any_machine = std::uint64_t{1} << 62;
  const auto words = words_of(content);
  const auto bytes = words.size() == 1 ? parse_number<std::uint64_t>(words[0]) : std::nullopt;
  return bytes && *bytes < beyond_any_machine ? bytes : std::nullopt;
}

}  // namespace millrace::machine
