#include "millrace/video/frame/clip_time.h"

#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/parse_number.h"

#include <optional>

namespace millrace::video {
namespace {

constexpr std::int64_t second = 1'000'000;
constexpr std::int64_t most = std::int64_t{100} * 366 * 24 * 3600 * second;

bool is_number(std::string_view text, bool with_point) {
  if (text.empty() || text.front() == '.') return false;
  const std::size_t point = text.find('.');
  if (point != std::string_view::npos && (!with_point || text.find('.', point + 1) != std::string_view::npos))
    return false;
  return text.find_first_not_of("0123456789.") == std::string_view::npos && text.size() <= 24;
}

// Parses decimal digits with at most one point. Digits finer than a microsecond are ignored.
std::optional<std::int64_t> decimal(std::string_view text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  const auto whole = parse_number<std::int64_t>(text.substr(0, point));
  if (!whole || *whole > most / second) return std::nullopt;
  std::int64_t micros = 0;
  std::int64_t unit = second / 10;
  for (const char digit : text.substr(std::min(point + 1, text.size()))) {
    micros += (digit - '0') * unit;
    unit /= 10;
  }
  return *whole * second + micros;
}

std::optional<std::int64_t> parse(std::string_view text) {
  std::int64_t sum = 0;
  for (int part = 0;; ++part) {
    const std::size_t colon = text.find(':');
    const bool last = colon == std::string_view::npos;
    const std::string_view word = text.substr(0, colon);
    if (part > 2 || !is_number(word, last)) return std::nullopt;
    const auto value = decimal(word);
    if (!value || (part > 0 && *value >= 60 * second)) return std::nullopt;
    sum = sum * 60 + *value;
    if (sum > most) return std::nullopt;
    if (last) return sum;
    text.remove_prefix(colon + 1);
  }
}

}  // namespace

Result<std::int64_t> parse_clip_time(std::string_view text, std::string_view name) {
  if (const auto time = parse(text)) return *time;
  return usage_error("{} {} is not a time; write seconds (12.5), or hours, minutes and seconds (0:01:30.25)",
                     name, in_quotes(text));
}

}  // namespace millrace::video
