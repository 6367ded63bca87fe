#include "millrace/video/frame/range_change.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace millrace::video {
namespace {

template <class Sample> void fill_with_all_codes(Frame& frame, std::mt19937& random) {
  for (int index = 0; index < frame.planes(); ++index) {
    const PlaneView plane = frame.plane(index);
    for (int y = 0; y < plane.height; ++y)
      for (int x = 0; x < plane.width; ++x)
        plane.row<Sample>(y)[x] = static_cast<Sample>(random() % (1U << frame.format().bits));
  }
}

class RangeOfBits : public ::testing::TestWithParam<int> {
 protected:
  [[nodiscard]] static double code_at(const Frame& frame, int index, int x, int y) {
    const PlaneView plane = frame.plane(index);
    return frame.format().bits == 8 ? plane.row<std::uint8_t>(y)[x] : plane.row<std::uint16_t>(y)[x];
  }
};

// ITU-T H.273 defines a code value as a fraction of the way from black to white.
TEST_P(RangeOfBits, CodesMeanWhatTheyMeantToHalfACode) {
  const int bits = GetParam();
  std::mt19937 random(static_cast<unsigned>(bits));
  const auto meaning = [bits](double code, bool chroma, ColorRange range) {
    const double unit = std::pow(2, bits - 8);
    if (range == ColorRange::full)
      return chroma ? (code - std::pow(2, bits - 1)) / (std::pow(2, bits) - 1)
                    : code / (std::pow(2, bits) - 1);
    return chroma ? (code / unit - 128) / 224 : (code / unit - 16) / 219;
  };
  for (const ColorRange to : {ColorRange::limited, ColorRange::full}) {
    const ColorRange from = to == ColorRange::full ? ColorRange::limited : ColorRange::full;
    Frame frame({.width = 67, .height = 41, .chroma = Chroma::c422, .bits = bits});
    if (bits == 8)
      fill_with_all_codes<std::uint8_t>(frame, random);
    else
      fill_with_all_codes<std::uint16_t>(frame, random);
    const Frame before = frame.clone();
    RangeChange(bits, to).apply(frame);
    const double most = std::pow(2, bits) - 1;
    for (int index = 0; index < frame.planes(); ++index)
      for (int y = 0; y < frame.plane(index).height; ++y)
        for (int x = 0; x < frame.plane(index).width; ++x) {
          const double is = code_at(frame, index, x, y);
          const double was = code_at(before, index, x, y);
          const double one = meaning(1, index > 0, to) - meaning(0, index > 0, to);
          const double apart = (meaning(is, index > 0, to) - meaning(was, index > 0, from)) / one;
          const bool clipped = (is == 0 && apart > 0) || (is == most && apart < 0);
          ASSERT_TRUE(clipped || std::abs(apart) <= 0.5 + 1e-6)
              << "plane " << index << ", " << was << " as " << is;
        }
  }
}

INSTANTIATE_TEST_SUITE_P(Depths, RangeOfBits, ::testing::Values(8, 9, 10, 12, 14, 16));

}  // namespace
}  // namespace millrace::video
