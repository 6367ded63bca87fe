#include "millrace/video/ffmpeg/matroska_size.h"

#include <bit>

namespace millrace::video {
namespace {

// Parses an EBML number: one leading zero bit per further byte, a marker bit, the value. All ones mean
// "unknown".
std::optional<std::uint64_t> take_number(std::span<const std::uint8_t>& bytes) {
  if (bytes.empty() || bytes[0] == 0) return std::nullopt;
  const auto length = static_cast<std::size_t>(std::countl_zero(bytes[0])) + 1;
  if (bytes.size() < length) return std::nullopt;
  std::uint64_t value = bytes[0] & (0xffU >> length);
  for (std::size_t i = 1; i < length; ++i)
    value = value << 8 | bytes[i];
  bytes = bytes.subspan(length);
  if (value == (std::uint64_t{1} << (7 * length)) - 1) return std::nullopt;
  return value;
}

bool take_id(std::span<const std::uint8_t>& bytes, std::uint32_t id) {
  if (bytes.size() < 4) return false;
  const std::uint32_t found =
      std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
  bytes = bytes.subspan(4);
  return found == id;
}

}  // namespace

std::optional<std::uint64_t> matroska_size(std::span<const std::uint8_t> start) {
  std::span<const std::uint8_t> rest = start;
  if (!take_id(rest, 0x1a45dfa3))  // EBML
    return std::nullopt;
  const std::optional<std::uint64_t> header = take_number(rest);
  if (!header || *header > rest.size()) return std::nullopt;
  rest = rest.subspan(*header);
  if (!take_id(rest, 0x18538067))  // Segment
    return std::nullopt;
  const std::optional<std::uint64_t> segment = take_number(rest);
  if (!segment) return std::nullopt;
  return start.size() - rest.size() + *segment;
}

}  // namespace millrace::video
