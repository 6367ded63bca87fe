#include "millrace/video/ffmpeg/h264_pictures.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace millrace::video {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr int non_idr_slice = 1;
constexpr int idr_slice = 5;

// Type of the NAL unit that begins with this byte.
int unit_type(std::uint8_t header) { return header & 0x1F; }

bool is_slice(int type) { return type >= non_idr_slice && type <= idr_slice; }

// NAL units follow start codes.
bool first_slice_is_idr_of_annex_b(Bytes bytes) {
  constexpr std::array<std::uint8_t, 3> start_code{0, 0, 1};
  for (;;) {
    const auto found = std::ranges::search(bytes, start_code);
    if (found.empty() || found.end() == bytes.end()) return false;
    const int type = unit_type(*found.end());
    if (is_slice(type)) return type == idr_slice;
    bytes = Bytes(found.end(), bytes.end());
  }
}

// NAL units follow their lengths.
bool first_slice_is_idr_of_avcc(Bytes bytes, std::size_t length_size) {
  while (bytes.size() > length_size) {
    std::size_t length = 0;
    for (const std::uint8_t byte : bytes.first(length_size))
      length = length << 8 | byte;
    bytes = bytes.subspan(length_size);
    const int type = unit_type(bytes.front());
    if (is_slice(type)) return type == idr_slice;
    bytes = bytes.subspan(std::min(length, bytes.size()));
  }
  return false;
}

}  // namespace

bool begins_idr_picture(const AVPacket& packet, const AVCodecParameters& parameters) {
  const Bytes bytes(packet.data, static_cast<std::size_t>(std::max(packet.size, 0)));
  const bool avcc = parameters.extradata_size > 4 && parameters.extradata[0] == 1;
  if (!avcc) return first_slice_is_idr_of_annex_b(bytes);
  return first_slice_is_idr_of_avcc(bytes, (parameters.extradata[4] & 3U) + 1);
}

}  // namespace millrace::video
