#include "millrace/video/ffmpeg/stored_duration.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace millrace::video {
namespace {

// Parses "00:01:02.500000000", to microseconds.
std::optional<std::int64_t> duration_of_tag(std::string_view text) {
  std::array<std::int64_t, 4> numbers{};
  constexpr std::string_view ends = "::.";
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t length = i < ends.size() ? text.find(ends[i]) : text.size();
    if (length == 0 || length > 9) return std::nullopt;
    const auto parsed = std::from_chars(text.data(), text.data() + length, numbers.at(i));
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + length || numbers.at(i) < 0)
      return std::nullopt;
    if (i == ends.size())
      for (std::size_t digits = length; digits < 9; ++digits)
        numbers.at(i) *= 10;
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return ((numbers[0] * 60 + numbers[1]) * 60 + numbers[2]) * AV_TIME_BASE + numbers[3] / 1000;
}

}  // namespace

std::optional<std::int64_t> stored_end(const AVFormatContext& container, const AVStream& stream) {
  const std::string_view kind = container.iformat->name;
  if (kind.starts_with("mov")) {
    if (stream.duration <= 0 || stream.start_time == AV_NOPTS_VALUE) return std::nullopt;
    return stream.start_time + stream.duration;
  }
  if (!kind.starts_with("matroska")) return std::nullopt;
  const AVDictionaryEntry* const tag =
      av_dict_get(stream.metadata, "DURATION", nullptr, AV_DICT_IGNORE_SUFFIX);
  const auto end = tag != nullptr ? duration_of_tag(tag->value) : std::nullopt;
  // Programs that copy tags leave old ones. These are mostly longer than the file.
  constexpr std::int64_t rounding = 1000;
  if (!end || container.duration <= 0 || *end > container.duration + rounding) return std::nullopt;
  return av_rescale_q(*end, AV_TIME_BASE_Q, stream.time_base);
}

}  // namespace millrace::video
