#include "millrace/video/frame/orientation.h"

#include <algorithm>
#include <array>
#include <utility>

namespace millrace::video {
namespace {

// Chroma sample location in each direction, relative to its two luma samples: 0 at the first, 1 between them,
// 2 at the second. In the order of FrameFormat::chroma_location, from 1 on.
constexpr std::array<std::pair<int, int>, 6> places{{{0, 1}, {1, 1}, {0, 0}, {1, 0}, {0, 2}, {1, 2}}};

int oriented_location(int location, const Orientation& orientation) {
  if (location < 1 || location > static_cast<int>(places.size())) return 0;
  auto [x, y] = places[static_cast<std::size_t>(location) - 1];
  if (orientation.columns_mirrored) x = 2 - x;
  if (orientation.rows_mirrored) y = 2 - y;
  if (orientation.transposed) std::swap(x, y);
  const auto* found = std::ranges::find(places, std::pair(x, y));
  return found == places.end() ? 0 : static_cast<int>(found - places.begin()) + 1;
}

template <class Sample>
void orient(const PlaneView& from, const PlaneView& to, const Orientation& orientation) {
  // Works in square blocks. Rows become columns, and blocks use whole cache lines.
  constexpr int side = 32;
  for (int top = 0; top < to.height; top += side) {
    for (int left = 0; left < to.width; left += side) {
      const int bottom = std::min(top + side, to.height);
      const int right = std::min(left + side, to.width);
      for (int y = top; y < bottom; ++y) {
        Sample* const row = to.row<Sample>(y);
        for (int x = left; x < right; ++x) {
          int column = orientation.transposed ? y : x;
          int line = orientation.transposed ? x : y;
          if (orientation.columns_mirrored) column = from.width - 1 - column;
          if (orientation.rows_mirrored) line = from.height - 1 - line;
          row[x] = from.row<const Sample>(line)[column];
        }
      }
    }
  }
}

}  // namespace

FrameFormat oriented(const FrameFormat& format, const Orientation& orientation) {
  if (orientation.is_upright()) return format;
  FrameFormat result = format;
  if (format.chroma == Chroma::c420)
    result.chroma_location = oriented_location(format.chroma_location, orientation);
  if (!orientation.transposed) return result;
  std::swap(result.width, result.height);
  if (format.aspect_numerator > 0) std::swap(result.aspect_numerator, result.aspect_denominator);
  if (format.chroma == Chroma::c422) result.chroma = Chroma::c444;
  return result;
}

void orient_plane(const PlaneView& from, const PlaneView& to, int bytes_per_sample,
                  const Orientation& orientation) {
  if (bytes_per_sample == 1)
    orient<std::uint8_t>(from, to, orientation);
  else
    orient<std::uint16_t>(from, to, orientation);
}

}  // namespace millrace::video
