#include "millrace/video/coded/loop_count.h"

#include <algorithm>
#include <string>

namespace millrace::video {
namespace {

bool begins_with(std::span<const std::uint8_t> bytes, std::string_view text) {
  return bytes.size() >= text.size() &&
         std::equal(text.begin(), text.end(), bytes.begin(),
                    [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; });
}

std::uint32_t big_endian(std::span<const std::uint8_t> bytes) {
  return std::uint32_t{bytes[0]} << 24U | std::uint32_t{bytes[1]} << 16U | std::uint32_t{bytes[2]} << 8U |
         bytes[3];
}

// A GIF states its repeats before the first picture. Without that, it is played once.
std::optional<std::uint32_t> of_gif(std::span<const std::uint8_t> bytes) {
  constexpr std::size_t header = 13;
  if (bytes.size() < header) return std::nullopt;
  const std::size_t colors = (bytes[10] & 0x80U) != 0 ? std::size_t{3} << ((bytes[10] & 7U) + 1) : 0;
  std::size_t at = header + colors;
  constexpr std::uint8_t extension = 0x21;
  constexpr std::uint8_t application = 0xff;
  constexpr std::uint8_t picture = 0x2c;
  while (at + 2 < bytes.size()) {
    if (bytes[at] == picture) return 1;
    if (bytes[at] != extension) return std::nullopt;
    const bool netscape =
        bytes[at + 1] == application && begins_with(bytes.subspan(at + 2), "\x0bNETSCAPE2.0\x03\x01");
    if (netscape && at + 18 <= bytes.size()) {
      const std::uint32_t repeats = bytes[at + 16] | std::uint32_t{bytes[at + 17]} << 8U;
      return repeats == 0 ? 0 : repeats + 1;
    }
    for (at += 2; at < bytes.size() && bytes[at] != 0; at += bytes[at] + 1U) {
    }
    ++at;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> of_apng(std::span<const std::uint8_t> bytes) {
  constexpr std::size_t signature = 8;
  for (std::size_t at = signature; at + 16 <= bytes.size();) {
    const std::span<const std::uint8_t> chunk = bytes.subspan(at);
    if (begins_with(chunk.subspan(4), "acTL")) return big_endian(chunk.subspan(12));
    if (begins_with(chunk.subspan(4), "IDAT")) return std::nullopt;
    const std::size_t length = big_endian(chunk);
    if (length > bytes.size()) return std::nullopt;
    at += 12 + length;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint32_t> loop_count_of(std::span<const std::uint8_t> start) {
  if (begins_with(start, "GIF89a")) return of_gif(start);
  if (begins_with(start, "\x89PNG\r\n\x1a\n")) return of_apng(start);
  return std::nullopt;
}

std::optional<std::uint32_t> find_loop_count(const Properties& properties) {
  const auto found = properties.find(loop_count_name);
  if (found == properties.end() || found->second.size() != 4) return std::nullopt;
  return big_endian(found->second);
}

void set_loop_count(Properties& properties, std::uint32_t times) {
  properties[std::string(loop_count_name)] = {
      static_cast<std::uint8_t>(times >> 24U), static_cast<std::uint8_t>(times >> 16U),
      static_cast<std::uint8_t>(times >> 8U), static_cast<std::uint8_t>(times)};
}

int gif_muxer_loop(std::uint32_t times) {
  constexpr std::uint32_t most = 65535;
  return times == 1 ? -1 : times == 0 ? 0 : static_cast<int>(std::min(times - 1, most));
}

}  // namespace millrace::video
