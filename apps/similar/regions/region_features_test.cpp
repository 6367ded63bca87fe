#include "similar/image/similar_testing.h"
#include "similar/regions/region_features.h"

#include <numeric>

#include <gtest/gtest.h>

namespace millrace::similar {
namespace {

class RegionFeatures : public testing::TestWithParam<unsigned> {};

TEST_P(RegionFeatures, AreOneForEachRegionWithWeightsThatSumToOne) {
  const Image image = scene(GetParam());
  const Segmentation segmentation = segment(image);
  const auto regions = extract_features(image, segmentation);
  ASSERT_EQ(regions.size(), static_cast<std::size_t>(segmentation.regions));
  float sum = 0;
  for (const Region& region : regions) {
    EXPECT_GT(region.weight, 0);
    sum += region.weight;
    for (const float feature : region.features)
      EXPECT_TRUE(std::isfinite(feature));
  }
  EXPECT_NEAR(sum, 1, 1e-5);
}

TEST_P(RegionFeatures, OfAMirroredImageDifferInTheCentreOnly) {
  const Image image = scene(GetParam());
  const Segmentation segmentation = segment(image);
  Segmentation mirrored = segmentation;
  const auto width = static_cast<std::size_t>(image.width);
  for (std::size_t i = 0; i < mirrored.labels.size(); i += width)
    std::reverse(mirrored.labels.begin() + static_cast<std::ptrdiff_t>(i),
                 mirrored.labels.begin() + static_cast<std::ptrdiff_t>(i + width));
  const auto ours = extract_features(image, segmentation);
  const auto theirs = extract_features(upright(image, 2), mirrored);
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t r = 0; r < ours.size(); ++r) {
    for (std::size_t f = 0; f < feature_count; ++f) {
      if (f == 12) continue;  // centre x
      EXPECT_NEAR(ours[r].features[f], theirs[r].features[f], 1e-4) << r << ' ' << f;
    }
    EXPECT_NEAR(ours[r].features[12] + theirs[r].features[12], 0.1, 1e-5);  // x and 1 - x, scaled by 0.1
  }
}

INSTANTIATE_TEST_SUITE_P(Scenes, RegionFeatures, testing::Range(0U, 12U));

TEST(RegionFeaturesOfAPlainRed, AreItsHueSaturationAndValueWithoutSpread) {
  Image image(20, 10);
  for (std::size_t i = 0; i < image.rgb.size(); i += 3)
    image.rgb[i] = 255;
  const auto regions = extract_features(image, {std::vector<std::uint16_t>(200), 1});
  ASSERT_EQ(regions.size(), 1U);
  // Hue 0, saturation and value 1, each mean weighted by 4; the box is the full image.
  const Features expected = {0, 0, 0, 4, 0, 0, 4, 0, 0, 0, 0.4F, 0, 0.05F, 0.05F};
  for (std::size_t f = 0; f < feature_count; ++f)
    EXPECT_NEAR(regions[0].features[f], expected[f], 1e-6) << f;
  EXPECT_EQ(regions[0].weight, 1);
}

TEST(RegionFeaturesMoments, AreThoseOfTheValues) {
  // A grey image with values 0, 0, 0, 1: mean 1/4, variance 3/16, third moment 3/32.
  Image image(4, 1);
  for (int c = 0; c < 3; ++c)
    image.pixel(3, 0)[c] = 255;
  const auto regions = extract_features(image, {std::vector<std::uint16_t>(4), 1});
  EXPECT_NEAR(regions[0].features[6], 4 * 0.25, 1e-6);
  EXPECT_NEAR(regions[0].features[7], 2 * std::sqrt(3.0 / 16), 1e-6);
  EXPECT_NEAR(regions[0].features[8], std::cbrt(3.0 / 32), 1e-6);
}

}  // namespace
}  // namespace millrace::similar
