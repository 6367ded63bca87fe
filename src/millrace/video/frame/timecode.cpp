#include "millrace/video/frame/timecode.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace millrace::video {
namespace {

struct Parts {
  std::array<std::int64_t, 4> numbers{};  // hours, minutes, seconds, frames
  char last_separator = ':';
};

std::optional<Parts> parse_timecode(std::string_view text) {
  Parts parts;
  for (std::size_t i = 0; i < parts.numbers.size(); ++i) {
    std::size_t digits = 0;
    while (digits < text.size() && digits < 3 && text[digits] >= '0' && text[digits] <= '9')
      parts.numbers.at(i) = parts.numbers.at(i) * 10 + (text[digits++] - '0');
    if (digits == 0) return std::nullopt;
    text.remove_prefix(digits);
    if (i == 3) break;
    if (text.empty() || std::string_view(":;.").find(text.front()) == std::string_view::npos)
      return std::nullopt;
    parts.last_separator = text.front();
    text.remove_prefix(1);
  }
  return text.empty() ? std::optional(parts) : std::nullopt;
}

}  // namespace

// Drop-frame timecode skips the first numbers of every minute except each tenth. It skips numbers, not
// frames.
std::optional<std::string> timecode_after(std::string_view timecode, std::int64_t frames,
                                          std::int64_t rate_numerator, std::int64_t rate_denominator) {
  const auto parts = parse_timecode(timecode);
  if (!parts || rate_numerator <= 0 || rate_denominator <= 0) return std::nullopt;
  const std::int64_t rate =
      std::llround(static_cast<double>(rate_numerator) / static_cast<double>(rate_denominator));
  const auto& [hours, minutes, seconds, number] = parts->numbers;
  if (rate < 1 || hours > 23 || minutes > 59 || seconds > 59 || number >= rate) return std::nullopt;
  const bool drops = parts->last_separator != ':' && rate % 30 == 0;
  const std::int64_t dropped = drops ? rate / 15 : 0;  // numbers dropped per minute
  const std::int64_t in_minute = 60 * rate - dropped;
  const std::int64_t in_ten_minutes = 10 * in_minute + dropped;
  const std::int64_t in_day = 144 * in_ten_minutes;

  const std::int64_t all_minutes = 60 * hours + minutes;
  std::int64_t at = (60 * all_minutes + seconds) * rate + number - dropped * (all_minutes - all_minutes / 10);
  at = ((at + frames) % in_day + in_day) % in_day;

  const std::int64_t tens = at / in_ten_minutes;
  const std::int64_t rest = at % in_ten_minutes;
  // The first of every ten minutes has all numbers.
  const std::int64_t whole = rest < 60 * rate ? 0 : 1 + (rest - 60 * rate) / in_minute;
  at += dropped * (9 * tens + whole);
  return fmt::format("{:02}:{:02}:{:02}{}{:02}", at / (3600 * rate), at / (60 * rate) % 60, at / rate % 60,
                     parts->last_separator, at % rate);
}

}  // namespace millrace::video
