// Tests filters that change values with a table (levels, curve), and saturate.
#include "millrace/image/filters/filter_testing.h"
#include "millrace/image/layout/frame_layout.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::image {
namespace {

// Every code value of the given number of bits.
ScalarImage all_codes(int bits) {
  ScalarImage ramp{.size = {1 << bits, 1}, .pixels = {}};
  for (int code = 0; code < ramp.size.width; ++code)
    ramp.pixels.push_back(static_cast<float>(code) / static_cast<float>(ramp.size.width - 1));
  return ramp;
}

TEST(Levels, AreThePowerToTwoCodesOfSixteenBits) {
  const ScalarImage ramp = all_codes(16);
  for (const ParameterValues& values : std::vector<ParameterValues>{
           {0, 1, 1}, {0, 1, 2.2}, {0, 1, 0.45}, {0.1, 0.7, 1.5}, {0, 1, 10}, {0, 1, 0.1}}) {
    const ScalarImage result = apply_filter("levels", values, ramp);
    for (std::size_t i = 0; i < ramp.pixels.size(); ++i) {
      const double part = (double{ramp.pixels[i]} - values[0]) / (values[1] - values[0]);
      const double wanted = std::pow(std::clamp(part, 0.0, 1.0), 1 / values[2]);
      ASSERT_NEAR(result.pixels[i], wanted, 2.5 / 65535) << "code " << i << ", gamma " << values[2];
    }
    EXPECT_EQ(result.pixels.front(), 0);
    EXPECT_EQ(result.pixels.back(), 1);
  }
}

TEST(Levels, ClampWhatLiesBeyond) {
  const ScalarImage beyond{.size = {4, 1}, .pixels = {-3, -0.1F, 1.1F, 1e9F}};
  EXPECT_THAT(apply_filter("levels", {0.2, 0.9, 2}, beyond).pixels, testing::ElementsAre(0, 0, 1, 1));
}

TEST(Levels, WithWhiteBelowBlackAreRefused) {
  EXPECT_EQ(refusal("levels", {0.5, 0.25, 1}, gray({2, 2})),
            "levels: white must lie above black, but 0.25 is not above 0.5");
  EXPECT_NE(refusal("levels", {0.5, 0.5, 1}, gray({2, 2})), "");
}

TEST(Curve, IsTheNaturalSpline) {
  // Through (0,0), (0.5,1), (1,0): by hand, the second derivative in the middle is -12.
  const ScalarImage places{.size = {5, 1}, .pixels = {0, 0.25F, 0.5F, 0.75F, 1}};
  const std::vector<float> found = apply_filter("curve", {0, 0, 0.5, 1, 1, 0}, places).pixels;
  const double wanted[] = {0, 0.6875, 1, 0.6875, 0};
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], wanted[i], 1e-5) << i;
}

TEST(Curve, IsStraightBetweenTwoPointsAndLevelBeyondThem) {
  for (const float v : {0.0F, 0.1F, 0.3F, 0.5F, 0.8F, 1.0F}) {
    const ScalarImage one{.size = {1, 1}, .pixels = {v}};
    EXPECT_NEAR(apply_filter("curve", {0, 0, 1, 1}, one).pixels[0], v, 1e-6);
    const double wanted = 0.9 - 0.8 * (std::clamp(double{v}, 0.2, 0.7) - 0.2) / 0.5;
    EXPECT_NEAR(apply_filter("curve", {0.2, 0.9, 0.7, 0.1}, one).pixels[0], wanted,
                2e-4);  // curvature between table entries
  }
}

TEST(Curve, StaysBetweenBlackAndWhiteWhereTheSplineDoesNot) {
  for (const float pixel : apply_filter("curve", {0, 0, 0.1, 0.9, 0.2, 0.1, 1, 1}, all_codes(8)).pixels) {
    EXPECT_GE(pixel, 0);
    EXPECT_LE(pixel, 1);
  }
}

TEST(Curve, OfWhatAreNoPointsOfACurveSaysWhy) {
  EXPECT_EQ(refusal("curve", {0, 0, 1, 1, 0.5}, gray({2, 2})),
            "curve: 5 numbers make no points; give two for each, x and y");
  EXPECT_EQ(refusal("curve", {0, 0, 0.75, 1, 0.5, 1}, gray({2, 2})),
            "curve: the x of its points must grow, but 0.5 follows 0.75");
  EXPECT_NE(refusal("curve", {0.5, 0, 0.5, 1}, gray({2, 2})), "");
}

class Saturated : public testing::TestWithParam<int> {};

// Goes through code values, where gray is a code: half of an odd number of codes is not.
TEST_P(Saturated, KeepsGrayAndLightAndMovesColoursAwayFromGray) {
  const int bits = GetParam();
  const video::FrameFormat format{.width = 64, .height = 4, .chroma = video::Chroma::c444, .bits = bits};
  const int maximum = (1 << bits) - 1;
  const int middle = 1 << (bits - 1);
  for (const double factor : {0.0, 0.5, 1.0, 2.0, 16.0}) {
    const auto layout = lay_out_frame(chain({{"saturate", {factor}}}), format, Planes::automatic);
    ASSERT_TRUE(layout);
    ScalarImage codes{.size = {64, 4}, .pixels = {}};
    for (int i = 0; i < 256; ++i)
      codes.pixels.push_back(static_cast<float>(i * (maximum / 255)));
    codes.pixels[7] = static_cast<float>(middle);
    EXPECT_EQ(scalar_reference(layout->planes[0], codes), codes);
    for (int plane : {1, 2}) {
      const ScalarImage result = scalar_reference(layout->planes[plane], codes);
      EXPECT_EQ(result.pixels[7], middle) << factor;
      for (std::size_t i = 0; i < codes.pixels.size(); ++i) {
        const double wanted = std::clamp(middle + factor * (codes.pixels[i] - middle), 0.0, double(maximum));
        ASSERT_NEAR(result.pixels[i], wanted, 0.51) << factor << " of " << codes.pixels[i];
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Bits, Saturated, testing::Values(8, 10, 16));

}  // namespace
}  // namespace millrace::image
