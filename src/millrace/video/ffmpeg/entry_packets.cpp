#include "millrace/video/ffmpeg/entry_packets.h"

#include "millrace/video/ffmpeg/nal_units.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace millrace::video {
namespace {

enum class UnitKind { entry_picture, other_picture, messages, other };

struct UnitHeader {
  UnitKind kind = UnitKind::other;
  std::size_t size = 1;
};

UnitHeader header_of(std::uint8_t first, AVCodecID codec) {
  if (codec == AV_CODEC_ID_HEVC) {
    const int type = first >> 1 & 0x3F;
    if (type >= 16 && type <= 23) return {UnitKind::entry_picture, 2};
    if (type < 32) return {UnitKind::other_picture, 2};
    return {type == 39 ? UnitKind::messages : UnitKind::other, 2};
  }
  const int type = first & 0x1F;
  if (type == 5) return {UnitKind::entry_picture};
  if (type >= 1 && type <= 4) return {UnitKind::other_picture};
  return {type == 6 ? UnitKind::messages : UnitKind::other};
}

// Removes the bytes that keep the unit free of start codes, and what follows the unit.
std::vector<std::uint8_t> payload(std::span<const std::uint8_t> unit) {
  std::vector<std::uint8_t> bytes;
  int zeros = 0;
  for (const std::uint8_t byte : unit) {
    if (zeros >= 2 && byte < 3) break;  // the next start code
    if (zeros < 2 || byte != 3) bytes.push_back(byte);
    zeros = byte == 0 ? zeros + 1 : 0;
  }
  return bytes;
}

// Whether one of the supplemental messages is a recovery point of later pictures.
bool refresh_gradually(std::span<const std::uint8_t> messages) {
  constexpr std::size_t recovery_point = 6;
  // Bytes of 255 and the byte after them are added up.
  const auto number = [&] {
    std::size_t sum = 0;
    while (!messages.empty()) {
      const std::uint8_t byte = messages.front();
      messages = messages.subspan(1);
      sum += byte;
      if (byte != 0xFF) break;
    }
    return sum;
  };
  while (messages.size() > 2) {
    const std::size_t type = number();
    const std::size_t size = number();
    if (size > messages.size()) return false;
    // It begins with the count of pictures. In an Exp-Golomb code, only zero begins with a bit of 1.
    if (type == recovery_point && size > 0) return (messages.front() & 0x80) == 0;
    messages = messages.subspan(size);
  }
  return false;
}

bool begins_gradual_refresh(const AVPacket& packet, const AVCodecParameters& parameters) {
  bool gradual = false;
  NalUnits units(packet, parameters);
  for (auto unit = units.next(); !unit.empty(); unit = units.next()) {
    const UnitHeader header = header_of(unit.front(), parameters.codec_id);
    if (header.kind == UnitKind::entry_picture) return false;
    if (header.kind == UnitKind::other_picture) return gradual;
    if (header.kind == UnitKind::messages && unit.size() > header.size)
      gradual = gradual || refresh_gradually(payload(unit.subspan(header.size)));
  }
  return gradual;
}

}  // namespace

bool is_entry(const AVPacket& packet, const AVCodecParameters& parameters) {
  if ((packet.flags & AV_PKT_FLAG_KEY) == 0) return false;
  const bool may_refresh = parameters.codec_id == AV_CODEC_ID_H264 || parameters.codec_id == AV_CODEC_ID_HEVC;
  return !may_refresh || !begins_gradual_refresh(packet, parameters);
}

}  // namespace millrace::video
