#include "millrace/video/ffmpeg/ffv1_packet.h"

extern "C" {
#include <libavutil/crc.h>
}

namespace millrace::video {

bool ffv1_checksums_hold(std::span<const std::uint8_t> packet) {
  // A slice ends with its size (3 bytes), a status byte and a checksum (4 bytes). The checksum is chosen so
  // that the CRC of the whole slice is 0. The slices are adjacent and can only be found from the last one
  // backwards.
  constexpr std::size_t footer = 8;
  const AVCRC* table = av_crc_get_table(AV_CRC_32_IEEE);
  if (packet.empty()) return false;
  while (!packet.empty()) {
    if (packet.size() < footer) return false;
    const std::uint8_t* size = packet.data() + packet.size() - footer;
    const std::size_t slice = (std::size_t{size[0]} << 16 | std::size_t{size[1]} << 8 | size[2]) + footer;
    if (slice > packet.size() || av_crc(table, 0, packet.data() + packet.size() - slice, slice) != 0)
      return false;
    packet = packet.first(packet.size() - slice);
  }
  return true;
}

bool ffv1_is_key(std::span<const std::uint8_t> packet) {
  // The first bit of the range coder (3.8.1), with its initial state of 128: set if the first two bytes are
  // at least 0xFF00 - 0xFF00 * 128 / 256.
  constexpr int bound = 0x7f80;
  return packet.size() >= 2 && (packet[0] << 8 | packet[1]) >= bound;
}

}  // namespace millrace::video
