#include "millrace/video/y4m/y4m_frame.h"

#include "millrace/video/y4m/y4m_header.h"

#include <bit>
#include <cstring>

namespace millrace::video {
namespace {

static_assert(std::endian::native == std::endian::little,
              "y4m samples of more than 8 bits, and numbers, are little-endian");

// Bytes of a row.
std::size_t row_bytes(const Frame& frame, int index) {
  return static_cast<std::size_t>(plane_width(frame.format(), index)) *
         static_cast<std::size_t>(bytes_per_sample(frame.format(), index));
}

}  // namespace

std::size_t y4m_frame_bytes(const FrameFormat& format) {
  return y4m_frame_magic.size() + 1 + packed_bytes(format);
}

void pack_y4m_frame(const Frame& frame, std::vector<std::byte>& bytes) {
  bytes.resize(y4m_frame_bytes(frame.format()));
  std::byte* to = bytes.data();
  std::memcpy(to, y4m_frame_magic.data(), y4m_frame_magic.size());
  to += y4m_frame_magic.size();
  *to++ = std::byte{'\n'};
  for (int index = 0; index < frame.planes(); ++index) {
    if (!holds(frame.format(), index)) continue;
    const PlaneView plane = frame.plane(index);
    const std::size_t row = row_bytes(frame, index);
    for (int y = 0; y < plane.height; ++y, to += row)
      std::memcpy(to, plane.row<std::byte>(y), row);
  }
}

bool unpack_y4m_frame(std::span<const std::byte> bytes, const Frame& frame) {
  const std::byte* from = bytes.data();
  if (bytes.size() != y4m_frame_bytes(frame.format()) ||
      std::memcmp(from, y4m_frame_magic.data(), y4m_frame_magic.size()) != 0 ||
      from[y4m_frame_magic.size()] != std::byte{'\n'})
    return false;
  from += y4m_frame_magic.size() + 1;
  for (int index = 0; index < frame.planes(); ++index) {
    if (!holds(frame.format(), index)) continue;
    const PlaneView plane = frame.plane(index);
    const std::size_t row = row_bytes(frame, index);
    for (int y = 0; y < plane.height; ++y, from += row)
      std::memcpy(plane.row<std::byte>(y), from, row);
  }
  return within_bit_depth(frame);
}

}  // namespace millrace::video
