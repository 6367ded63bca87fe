// Tests filters of a neighbourhood whose size is a parameter.
#include "millrace/image/filters/filter_testing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::image {
namespace {

// A 4:2:2 chroma plane: half the width of luma and the same height.
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

// Three luma samples are one and a half samples of half-width chroma, rounded to two.
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

// From the definition, in doubles.
double bilateral_by_hand(const ScalarImage& image, int x, int y, double sigma_space, double sigma_range) {
  const int radius = static_cast<int>(std::lround(1.5 * sigma_space));
  double sum = 0;
  double weights = 0;
  for (int dy = -radius; dy <= radius; ++dy) {
    for (int dx = -radius; dx <= radius; ++dx) {
      if (dx * dx + dy * dy > radius * radius) continue;
      const double value = replicated(image, x + dx, y + dy);
      const double apart = value - image.at(x, y);
      const double weight = std::exp(-(dx * dx + dy * dy) / (2 * sigma_space * sigma_space)) *
                            std::exp(-apart * apart / (2 * sigma_range * sigma_range));
      sum += weight * value;
      weights += weight;
    }
  }
  return sum / weights;
}

TEST(Bilateral, IsItsDefinition) {
  for (const Size size : telling_sizes) {
    const ScalarImage image = noise(size);
    for (const auto& [sigma_space, sigma_range] :
         {std::pair{1.0, 0.1}, {2.0, 0.4}, {0.7, 0.02}, {3.0, 5.0}}) {
      const ScalarImage result = apply_filter("bilateral", {sigma_space, sigma_range}, image);
      for (int y = 0; y < size.height; ++y) {
        for (int x = 0; x < size.width; ++x)
          ASSERT_NEAR(result.at(x, y), bilateral_by_hand(image, x, y, sigma_space, sigma_range), 5e-4)
              << x << "," << y << " " << sigma_space << " " << sigma_range;
      }
    }
  }
}

// Expected values from OpenCV 5.0 on a picture of floats: bilateralFilter(picture, 0, 0.1, 2,
// borderType=BORDER_REPLICATE).
TEST(Bilateral, IsThatOfOpenCV) {
  const ScalarImage theirs{
      .size = {10, 7},
      .pixels = {0.01352F, 0.37355F, 0.71544F, 0.09555F, 0.48386F, 0.82289F, 0.19209F, 0.56241F, 0.90895F,
                 0.28766F, 0.6075F,  0.09043F, 0.59755F, 0.09097F, 0.5768F,  0.10042F, 0.57171F, 0.10442F,
                 0.56571F, 0.08552F, 0.20845F, 0.79187F, 0.45953F, 0.093F,   0.69402F, 0.32252F, 0.89322F,
                 0.57624F, 0.1918F,  0.82268F, 0.79906F, 0.54989F, 0.30016F, 0.0765F,  0.8114F,  0.59875F,
                 0.32359F, 0.09395F, 0.81391F, 0.57353F, 0.41095F, 0.29277F, 0.13718F, 0.06989F, 0.8911F,
                 0.81229F, 0.68957F, 0.58266F, 0.48434F, 0.3531F,  0.03442F, 0.04436F, 0.05723F, 0.06554F,
                 0.07562F, 0.08006F, 0.09327F, 0.09286F, 0.10269F, 0.10721F, 0.6362F,  0.74195F, 0.87274F,
                 0.06523F, 0.1455F,  0.30862F, 0.45948F, 0.59407F, 0.74378F, 0.85463F}};
  ScalarImage picture{.size = theirs.size, .pixels = {}};
  for (int y = 0; y < theirs.size.height; ++y) {
    for (int x = 0; x < theirs.size.width; ++x)
      picture.pixels.push_back(static_cast<float>((37 * x + 61 * y + 13 * x * y) % 101) / 101);
  }
  const ScalarImage ours = apply_filter("bilateral", {2, 0.1}, picture);
  for (int y = 0; y < theirs.size.height; ++y) {
    for (int x = 0; x < theirs.size.width; ++x) {
      EXPECT_NEAR(bilateral_by_hand(picture, x, y, 2, 0.1), theirs.at(x, y), 1e-5);
      EXPECT_NEAR(ours.at(x, y), theirs.at(x, y), 5e-4) << x << "," << y;
    }
  }
}

TEST(Bilateral, SmoothsAndKeepsAnEdge) {
  ScalarImage image = noise({32, 16});
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 32; ++x) {
      float& pixel = image.pixels[image.index(x, y)];
      pixel = 0.02F * pixel + (x < 16 ? 0.2F : 0.8F);
    }
  }
  const ScalarImage result = apply_filter("bilateral", {4, 0.1}, image);
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 32; ++x)
      EXPECT_NEAR(result.at(x, y), x < 16 ? 0.21 : 0.81, 0.006) << x << "," << y;
  }
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
