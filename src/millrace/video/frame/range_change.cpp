#include "millrace/video/frame/range_change.h"

#include <algorithm>
#include <cmath>

namespace millrace::video {
namespace {

// `limited` codes above the limited zero point correspond to `full` codes above the full one.
std::vector<std::uint16_t> range_table(int bits, ColorRange to, double limited_zero, double full_zero,
                                       double limited, double full) {
  const int most = (1 << bits) - 1;
  std::vector<std::uint16_t> codes(static_cast<std::size_t>(most) + 1);
  for (int code = 0; code <= most; ++code) {
    const double changed = to == ColorRange::full ? full_zero + (code - limited_zero) * full / limited
                                                  : limited_zero + (code - full_zero) * limited / full;
    codes[static_cast<std::size_t>(code)] =
        static_cast<std::uint16_t>(std::lround(std::clamp(changed, 0.0, static_cast<double>(most))));
  }
  return codes;
}

template <class Sample> void change_range(const PlaneView& plane, const std::vector<std::uint16_t>& codes) {
  for (int y = 0; y < plane.height; ++y) {
    auto* const row = plane.row<Sample>(y);
    for (int x = 0; x < plane.width; ++x)
      row[x] = static_cast<Sample>(codes[row[x]]);
  }
}

}  // namespace

RangeChange::RangeChange(int bits, ColorRange to) {
  const double scale = 1 << (bits - 8);
  const double full = (1 << bits) - 1;
  const double middle = 1 << (bits - 1);
  luma_ = range_table(bits, to, 16 * scale, 0, 219 * scale, full);
  chroma_ = range_table(bits, to, middle, middle, 224 * scale, full);
}

void RangeChange::apply(Frame& frame) const {
  for (int index = 0; index < frame.planes(); ++index) {
    const std::vector<std::uint16_t>& codes = index == 0 ? luma_ : chroma_;
    if (frame.format().bits == 8)
      change_range<std::uint8_t>(frame.plane(index), codes);
    else
      change_range<std::uint16_t>(frame.plane(index), codes);
  }
}

}  // namespace millrace::video
