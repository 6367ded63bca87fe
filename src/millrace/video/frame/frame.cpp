#include "millrace/video/frame/frame.h"

#include "millrace/video/frame/frame_pool.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include <fmt/format.h>

namespace millrace::video {
namespace {

constexpr std::ptrdiff_t row_alignment = 64;  // bytes: a cache line, and the widest vector register
constexpr std::size_t overshoot = 64;         // bytes that may be touched behind the last row

int divide_rounding_up(int value, int divisor) { return (value + divisor - 1) / divisor; }

}  // namespace

FrameFormat with_samples(FrameFormat format, const Samples& samples) {
  if (format.chroma != samples.chroma) format.chroma_location = 0;
  format.chroma = samples.chroma;
  format.bits = samples.bits;
  return format;
}

int plane_count(Chroma chroma) { return chroma == Chroma::gray ? 1 : 3; }

int chroma_step_x(Chroma chroma) { return chroma == Chroma::c420 || chroma == Chroma::c422 ? 2 : 1; }

int chroma_step_y(Chroma chroma) { return chroma == Chroma::c420 ? 2 : 1; }

int held_planes(const FrameFormat& format) {
  return format.form == SampleForm::numbers_of_luma ? 1 : plane_count(format.chroma);
}

int bytes_per_sample(const FrameFormat& format) {
  if (format.form != SampleForm::codes) return sizeof(float);
  return format.bits > 8 ? 2 : 1;
}

int plane_width(const FrameFormat& format, int plane) {
  return plane == 0 ? format.width : divide_rounding_up(format.width, chroma_step_x(format.chroma));
}

int plane_height(const FrameFormat& format, int plane) {
  return plane == 0 ? format.height : divide_rounding_up(format.height, chroma_step_y(format.chroma));
}

std::ptrdiff_t plane_stride(const FrameFormat& format, int plane) {
  const std::ptrdiff_t used = std::ptrdiff_t{plane_width(format, plane)} * bytes_per_sample(format);
  return (used + row_alignment - 1) / row_alignment * row_alignment;
}

std::size_t frame_bytes(const FrameFormat& format) {
  // A row to spare: a bilinear read at the last row loads its lower neighbours, to weigh them with 0.
  std::size_t bytes =
      overshoot + static_cast<std::size_t>(plane_stride(format, plane_count(format.chroma) - 1));
  for (int plane = 0; plane < plane_count(format.chroma); ++plane)
    bytes += static_cast<std::size_t>(plane_stride(format, plane) * plane_height(format, plane));
  return bytes;
}

std::size_t packed_bytes(const FrameFormat& format) {
  std::size_t samples = 0;
  for (int plane = 0; plane < held_planes(format); ++plane)
    samples +=
        static_cast<std::size_t>(std::int64_t{plane_width(format, plane)} * plane_height(format, plane));
  return samples * static_cast<std::size_t>(bytes_per_sample(format));
}

std::string to_string(const FrameFormat& format) {
  static constexpr std::array names = {"gray", "4:2:0", "4:2:2", "4:4:4"};
  static constexpr std::array forms = {"", ", as numbers", ", as numbers of luma"};
  return fmt::format("{}x{} {} {} bit{}", format.width, format.height,
                     names[static_cast<std::size_t>(format.chroma)], format.bits,
                     forms[static_cast<std::size_t>(format.form)]);
}

Frame::Frame(const FrameFormat& format) : format_(format), samples_(allocate_samples(frame_bytes(format))) {}

PlaneView Frame::plane(int which) const {
  std::byte* data = samples_.get();
  for (int before = 0; before < which; ++before)
    data += plane_stride(format_, before) * plane_height(format_, before);
  return {data, plane_stride(format_, which), plane_width(format_, which), plane_height(format_, which)};
}

Frame Frame::clone() const {
  if (empty()) return {};
  Frame copy(format_);
  std::memcpy(copy.samples_.get(), samples_.get(), frame_bytes(format_));
  copy.index = index;
  copy.timestamp = timestamp;
  copy.properties = properties;
  return copy;
}

void Frame::Free::operator()(std::byte* memory) const {
  if (home)
    home->give_back(memory);
  else
    free_samples(memory);
}

bool within_bit_depth(const Frame& frame) {
  const int bits = frame.format().bits;
  if (bits == 8 || bits == 16 || frame.format().form != SampleForm::codes) return true;
  for (int index = 0; index < frame.planes(); ++index) {
    const PlaneView plane = frame.plane(index);
    std::uint16_t used = 0;  // the bits that any sample has set
    for (int y = 0; y < plane.height; ++y) {
      const auto* row = plane.row<const std::uint16_t>(y);
      for (int x = 0; x < plane.width; ++x)
        used = static_cast<std::uint16_t>(used | row[x]);
    }
    if ((used >> bits) != 0) return false;
  }
  return true;
}

}  // namespace millrace::video
