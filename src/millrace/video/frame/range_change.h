// RangeChange: code values of limited range as those of full range, or the other way round.
#pragma once

#include "millrace/video/frame/frame.h"

#include <cstdint>
#include <vector>

namespace millrace::video {

// Luma runs from 16 to 235 of 8 bits in limited range, chroma from 16 to 240, and from 0 to 255 in full
// range; more bits alike. Rounds to the nearest code. What lies outside of the range stays as near as it can.
//
//   const RangeChange to_limited(8, ColorRange::limited);
//   to_limited.apply(frame);  // whose codes are of full range
class RangeChange {
 public:
  // bits: 8 to 16. to: full, or else limited.
  RangeChange(int bits, ColorRange to);

  // Of all planes, in place.
  void apply(Frame& frame) const;

 private:
  std::vector<std::uint16_t> luma_;  // by code
  std::vector<std::uint16_t> chroma_;
};

// Whether a range means other code values: what is unspecified is limited.
[[nodiscard]] inline bool are_other_codes(ColorRange a, ColorRange b) {
  return (a == ColorRange::full) != (b == ColorRange::full);
}

}  // namespace millrace::video
