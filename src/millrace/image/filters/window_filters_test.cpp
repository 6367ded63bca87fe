// Filters that look at a neighbourhood as large as their parameters say.
#include "millrace/image/filters/filter_testing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::image {
namespace {

// A plane of chroma of 4:2:2: half as wide as luma and as high.
PlaneGeometry half_width_plane(Size size) {
  return {.size = size, .luma = {size.width * 2, size.height}, .step_x = 2, .frame_step_x = 2, .gray = 0.5F};
}

ScalarImage single_dot(Size size) {
  ScalarImage image{.size = size, .pixels = std::vector<float>(size.pixels())};
  image.pixels[image.index(size.width / 2, size.height / 2)] = 1;
  return image;
}

ScalarImage whole_numbers(Size size) {
  ScalarImage image = noise(size);
  for (float& pixel : image.pixels)
    pixel = std::floor(pixel * 256);
  return image;
}

void expect_bell(const ScalarImage& result, double sigma_x, double sigma_y) {
  const int cx = result.size.width / 2;
  const int cy = result.size.height / 2;
  const double peak = result.at(cx, cy);
  for (int y = 0; y < result.size.height; ++y) {
    for (int x = 0; x < result.size.width; ++x) {
      const double dx = (x - cx) / sigma_x;
      const double dy = (y - cy) / sigma_y;
      const bool inside =
          std::abs(x - cx) <= std::ceil(3 * sigma_x) && std::abs(y - cy) <= std::ceil(3 * sigma_y);
      ASSERT_NEAR(result.at(x, y), inside ? peak * std::exp(-0.5 * (dx * dx + dy * dy)) : 0, 1e-7)
          << x << "," << y;
    }
  }
  EXPECT_NEAR(std::accumulate(result.pixels.begin(), result.pixels.end(), 0.0), 1, 1e-5);
}

TEST(Gaussian, SpreadsADotAsTheNormalDistributionDoes) {
  for (const double sigma : {0.1, 0.5, 1.0, 2.5, 7.0})
    expect_bell(apply_filter("gaussian", {sigma}, single_dot({61, 61})), sigma, sigma);
}

TEST(Gaussian, SpreadsColoursAsFarAsLight) {
  expect_bell(apply_filter("gaussian", {4.0}, single_dot({61, 61}), half_width_plane({61, 61})), 2, 4);
}

TEST(Gaussian, LeavesAConstantPictureAlone) {
  const ScalarImage flat{.size = {17, 9}, .pixels = std::vector<float>(153, 0.75F)};
  for (float pixel : apply_filter("gaussian", {3.0}, flat).pixels)
    EXPECT_NEAR(pixel, 0.75, 1e-6);
}

TEST(Box, IsTheMeanOfTheReplicatedSquare) {
  for (const Size size : telling_sizes) {
    const ScalarImage image = whole_numbers(size);
    for (const int radius : {1, 2, 7}) {
      const ScalarImage result = apply_filter("box", {double(radius)}, image);
      for (int y = 0; y < size.height; ++y) {
        for (int x = 0; x < size.width; ++x) {
          double sum = 0;
          for (int dy = -radius; dy <= radius; ++dy) {
            for (int dx = -radius; dx <= radius; ++dx)
              sum += replicated(image, x + dx, y + dy);
          }
          ASSERT_NEAR(result.at(x, y), sum / ((2 * radius + 1) * (2 * radius + 1)), 1e-3) << x << "," << y;
        }
      }
    }
  }
}

// Three luma samples are one and a half of chroma that is half as wide: two.
TEST(Box, RoundsItsRadiusToSamplesOfThePlane) {
  const ScalarImage result = apply_filter("box", {3}, single_dot({21, 21}), half_width_plane({21, 21}));
  EXPECT_NEAR(result.at(10 + 2, 10), 1.0 / 35, 1e-6);
  EXPECT_EQ(result.at(10 + 3, 10), 0);
  EXPECT_NEAR(result.at(10, 10 + 3), 1.0 / 35, 1e-6);
}

TEST(Unsharp, AddsWhatTheGaussianTakesAway) {
  const ScalarImage image = noise({33, 21});
  const ScalarImage smooth = apply_filter("gaussian", {1.5}, image);
  for (const double amount : {-1.0, 0.5, 3.0}) {
    const ScalarImage result = apply_filter("unsharp", {1.5, amount}, image);
    for (std::size_t i = 0; i < image.pixels.size(); ++i) {
      const double wanted = image.pixels[i] + amount * (double{image.pixels[i]} - smooth.pixels[i]);
      ASSERT_NEAR(result.pixels[i], wanted, 1e-6);
    }
  }
  EXPECT_EQ(apply_filter("unsharp", {1.5, 0}, image), image);
}

TEST(Convolve, WithTheWeightsOfOtherFiltersIsThoseFilters) {
  for (const Size size : telling_sizes) {
    const ScalarImage image = whole_numbers(size);
    EXPECT_EQ(apply_filter("convolve", {-1, 0, 1, -2, 0, 2, -1, 0, 1}, image),
              apply_filter("sobel_x", {}, image));
    EXPECT_EQ(apply_filter("convolve", {1, 2, 1, 2, 4, 2, 1, 2, 1}, image), apply_filter("blur", {}, image));
  }
}

TEST(Convolve, DoesNotMirrorItsWeightsAndReachesAnyDistance) {
  const ScalarImage image = whole_numbers({23, 19});
  for (const int side : {1, 3, 5, 13, 31}) {
    ParameterValues lower_right(static_cast<std::size_t>(side) * static_cast<std::size_t>(side));
    lower_right.back() = 7;  // divided by their sum
    const ScalarImage result = apply_filter("convolve", lower_right, image);
    for (int y = 0; y < image.size.height; ++y) {
      for (int x = 0; x < image.size.width; ++x)
        ASSERT_EQ(result.at(x, y), replicated(image, x + side / 2, y + side / 2)) << side;
    }
  }
}

TEST(Convolve, OfWhatIsNoSquareWithACentreSaysWhatIs) {
  for (const std::size_t count : {2, 4, 8, 16, 30}) {
    EXPECT_EQ(
        refusal("convolve", ParameterValues(count, 1.0), gray({9, 9})),
        fmt::format("convolve: {} weights make no square with a pixel in its centre; give 9, 25, 49, ...",
                    count));
  }
}

// The pixels of a square, sorted.
std::vector<float> sorted_square(const ScalarImage& image, int x, int y, int radius) {
  std::vector<float> values;
  for (int dy = -radius; dy <= radius; ++dy) {
    for (int dx = -radius; dx <= radius; ++dx)
      values.push_back(replicated(image, x + dx, y + dy));
  }
  std::ranges::sort(values);
  return values;
}

TEST(Median, IsTheMiddleOfTheSortedSquare) {
  for (const Size size : telling_sizes) {
    for (const int radius : {1, 2}) {
      const ScalarImage image = noise(size, 5);
      const ScalarImage result = apply_filter("median", {double(radius)}, image);
      for (int y = 0; y < size.height; ++y) {
        for (int x = 0; x < size.width; ++x) {
          const std::vector<float> values = sorted_square(image, x, y, radius);
          ASSERT_EQ(result.at(x, y), values[values.size() / 2]) << x << "," << y << " radius " << radius;
        }
      }
    }
  }
}

TEST(Morphology, IsTheLeastOrGreatestOfTheSquare) {
  for (const Size size : telling_sizes) {
    for (const int radius : {1, 4}) {
      const ScalarImage image = noise(size, 6);
      const ScalarImage eroded = apply_filter("morphology", {0, double(radius)}, image);
      const ScalarImage dilated = apply_filter("morphology", {1, double(radius)}, image);
      for (int y = 0; y < size.height; ++y) {
        for (int x = 0; x < size.width; ++x) {
          const std::vector<float> values = sorted_square(image, x, y, radius);
          ASSERT_EQ(eroded.at(x, y), values.front());
          ASSERT_EQ(dilated.at(x, y), values.back());
        }
      }
      EXPECT_EQ(apply_filter("morphology", {2, double(radius)}, image),
                apply_filter("morphology", {1, double(radius)}, eroded));
      EXPECT_EQ(apply_filter("morphology", {3, double(radius)}, image),
                apply_filter("morphology", {0, double(radius)}, dilated));
    }
  }
}

}  // namespace
}  // namespace millrace::image
