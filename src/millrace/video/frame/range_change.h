// RangeChange: converts code values between limited and full range.
#pragma once

#include "millrace/video/frame/frame.h"

#include <cstdint>
#include <vector>

namespace millrace::video {

// At 8 bits, limited range is 16 to 235 for luma and 16 to 240 for chroma; full range is 0 to 255. Higher bit
// depths scale alike. Rounds to the nearest code; values outside the range are clamped.
//
//   const RangeChange to_limited(8, ColorRange::limited);
//   to_limited.apply(frame);  // frame has full range
class RangeChange {
 public:
  // bits: 8 to 16. to: full or limited.
  RangeChange(int bits, ColorRange to);

  // Converts all planes in place.
  void apply(Frame& frame) const;

 private:
  std::vector<std::uint16_t> luma_;  // indexed by code
  std::vector<std::uint16_t> chroma_;
};

// Whether the two ranges use different code values. Unspecified counts as limited.
[[nodiscard]] inline bool are_other_codes(ColorRange a, ColorRange b) {
  return (a == ColorRange::full) != (b == ColorRange::full);
}

}  // namespace millrace::video
