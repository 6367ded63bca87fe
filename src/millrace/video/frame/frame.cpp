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
constexpr std::size_t overshoot = 64;         // bytes after the last row that may be touched

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

bool is_of_codes(const FrameFormat& format) { return format.forms == SampleForms{}; }

bool holds(const FrameFormat& format, int plane) {
  return format.forms.at(static_cast<std::size_t>(plane)) != SampleForm::nothing;
}

int bytes_per_sample(const FrameFormat& format, int plane) {
  if (format.forms.at(static_cast<std::size_t>(plane)) == SampleForm::numbers) return sizeof(float);
  return format.bits > 8 ? 2 : 1;
}

int plane_width(const FrameFormat& format, int plane) {
  return plane == 0 ? format.width : divide_rounding_up(format.width, chroma_step_x(format.chroma));
}

int plane_height(const FrameFormat& format, int plane) {
  return plane == 0 ? format.height : divide_rounding_up(format.height, chroma_step_y(format.chroma));
}

std::ptrdiff_t plane_stride(const FrameFormat& format, int plane) {
  const std::ptrdiff_t used = std::ptrdiff_t{plane_width(format, plane)} * bytes_per_sample(format, plane);
  return (used + row_alignment - 1) / row_alignment * row_alignment;
}

std::size_t frame_bytes(const FrameFormat& format) {
  // One spare row: a bilinear read at the last row loads the row below, with weight 0.
  std::size_t bytes =
      overshoot + static_cast<std::size_t>(plane_stride(format, plane_count(format.chroma) - 1));
  for (int plane = 0; plane < plane_count(format.chroma); ++plane)
    bytes += static_cast<std::size_t>(plane_stride(format, plane) * plane_height(format, plane));
  return bytes;
}

std::size_t packed_bytes(const FrameFormat& format) {
  std::int64_t bytes = 0;
  for (int plane = 0; plane < plane_count(format.chroma); ++plane)
    if (holds(format, plane))
      bytes += std::int64_t{plane_width(format, plane)} * plane_height(format, plane) *
               bytes_per_sample(format, plane);
  return static_cast<std::size_t>(bytes);
}

std::string to_string(const SampleForms& forms) {
  static constexpr std::array names = {"codes", "numbers", "nothing"};
  const auto name = [&](std::size_t plane) { return names[static_cast<std::size_t>(forms[plane])]; };
  return fmt::format("{},{},{}", name(0), name(1), name(2));
}

std::string to_string(const FrameFormat& format) {
  static constexpr std::array names = {"gray", "4:2:0", "4:2:2", "4:4:4"};
  std::string text = fmt::format("{}x{} {} {} bit", format.width, format.height,
                                 names[static_cast<std::size_t>(format.chroma)], format.bits);
  if (!is_of_codes(format)) text += fmt::format(", of {}", to_string(format.forms));
  return text;
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
  if (bits == 8 || bits == 16) return true;
  for (int index = 0; index < frame.planes(); ++index) {
    if (frame.format().forms.at(static_cast<std::size_t>(index)) != SampleForm::codes) continue;
    const PlaneView plane = frame.plane(index);
    std::uint16_t used = 0;  // OR of all samples
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
