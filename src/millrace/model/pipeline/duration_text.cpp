#include "millrace/model/pipeline/duration_text.h"

#include "millrace/base/text/parse_number.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace millrace::model {
namespace {

constexpr std::array<std::pair<std::string_view, double>, 4> units{
    {{"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"s", 1}}};  // "s" last, because the others end with it

}  // namespace

std::optional<double> parse_seconds(std::string_view text) {
  for (const auto& [unit, scale] : units) {
    if (!text.ends_with(unit)) continue;
    const auto number = parse_number<double>(text.substr(0, text.size() - unit.size()));
    if (!number) return std::nullopt;
    return *number * scale;
  }
  return std::nullopt;
}

std::optional<int> parse_count(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::string seconds_text(double seconds) {
  if (seconds >= 1 || seconds == 0) return fmt::format("{:.4g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.4g} ms", seconds * 1e3);
  if (seconds >= 1e-6) return fmt::format("{:.4g} us", seconds * 1e6);
  return fmt::format("{:.4g} ns", seconds * 1e9);
}

}  // namespace millrace::model
