#include "similar/image/resize.h"
#include "similar/image/similar_testing.h"

#include <cmath>
#include <cstdlib>

#include <gtest/gtest.h>

namespace millrace::similar {
namespace {

struct Sizes {
  int from_width, from_height, to_width, to_height;
};

class Resize : public testing::TestWithParam<Sizes> {};

TEST_P(Resize, KeepsAPlainColour) {
  const auto [from_width, from_height, to_width, to_height] = GetParam();
  Image image(from_width, from_height);
  for (std::size_t i = 0; i < image.rgb.size(); ++i)
    image.rgb[i] = static_cast<std::uint8_t>(60 + 70 * (i % 3));
  const Image result = resize(image, to_width, to_height);
  ASSERT_EQ(result.width, to_width);
  ASSERT_EQ(result.height, to_height);
  ASSERT_EQ(result.rgb.size(), std::size_t{3} * static_cast<std::size_t>(to_width * to_height));
  for (std::size_t i = 0; i < result.rgb.size(); ++i)
    ASSERT_EQ(result.rgb[i], 60 + 70 * (i % 3)) << i;
}

TEST_P(Resize, MirrorsAsItsImageIsMirrored) {
  const auto [from_width, from_height, to_width, to_height] = GetParam();
  const Image image = scene(3, from_width, from_height);
  const Image mirrored = upright(resize(upright(image, 2), to_width, to_height), 2);
  const Image result = resize(image, to_width, to_height);
  for (std::size_t i = 0; i < result.rgb.size(); ++i)
    ASSERT_NEAR(result.rgb[i], mirrored.rgb[i], 1) << i;  // sums in another order
}

INSTANTIATE_TEST_SUITE_P(ToAndFro, Resize,
                         testing::Values(Sizes{481, 321, 128, 128}, Sizes{128, 128, 128, 128},
                                         Sizes{8, 9, 128, 128}, Sizes{1, 1, 5, 4}, Sizes{1000, 8, 7, 128},
                                         Sizes{300, 200, 1, 1}));

TEST(ResizeToTheSameSize, ChangesNothing) {
  const Image image = scene(5, 50, 40);
  EXPECT_EQ(resize(image, 50, 40), image);
}

TEST(ResizeOfAStraightLineOfGreys, StaysAStraightLine) {
  Image ramp(256, 4);
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 256; ++x)
      for (int c = 0; c < 3; ++c)
        ramp.pixel(x, y)[c] = static_cast<std::uint8_t>(x);
  const Image half = resize(ramp, 128, 2);
  for (int x = 4; x < 124; ++x)
    EXPECT_NEAR(*half.pixel(x, 0), 2 * x + 0.5, 1) << x;
}

TEST(ResizeOfAPatternTooFineForTheResult, GivesItsMeanAndNoAlias) {
  Image stripes(512, 8);
  for (int y = 0; y < 8; ++y)
    for (int x = 0; x < 512; ++x)
      for (int c = 0; c < 3; ++c)
        stripes.pixel(x, y)[c] = x % 2 == 0 ? 0 : 200;
  const Image result = resize(stripes, 100, 2);
  for (int x = 4; x < 96; ++x)
    EXPECT_NEAR(*result.pixel(x, 0), 100, 2) << x;
}

}  // namespace
}  // namespace millrace::similar
