// Tests of filters that keep pixels in place, and of the conversions of code values.
#include "millrace/image/filters/filter_testing.h"
#include "millrace/image/filters/named_filters.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::image {
namespace {

using testing::Each;
using testing::ElementsAre;

// Applies a pointwise filter to one value.
float value_of(std::string_view name, const ParameterValues& values, float input) {
  return apply_filter(name, values, {.size = {1, 1}, .pixels = {input}}).pixels[0];
}

ScalarImage impulse() {
  ScalarImage image{.size = {5, 5}, .pixels = std::vector<float>(25)};
  image.pixels[image.index(2, 2)] = 1;
  return image;
}

TEST(Blur, WeighsTheWindowAndReplicatesEdges) {
  EXPECT_THAT(apply_filter("blur", {}, one_to_nine).pixels,
              ElementsAre(2, 2.75, 3.5, 4.25, 5, 5.75, 6.5, 7.25, 8));
}

TEST(Blur, SpreadsAnImpulseBinomially) {
  EXPECT_THAT(apply_filter("blur", {}, impulse()).pixels,
              ElementsAre(0, 0, 0, 0, 0, 0, .0625, .125, .0625, 0, 0, .125, .25, .125, 0, 0, .0625, .125,
                          .0625, 0, 0, 0, 0, 0, 0));
}

TEST(SobelX, DifferencesColumnsAndReplicatesEdges) {
  EXPECT_THAT(apply_filter("sobel_x", {}, one_to_nine).pixels, ElementsAre(4, 8, 4, 4, 8, 4, 4, 8, 4));
}

TEST(SobelX, IsPositiveWhereItGrowsBrighterToTheRight) {
  EXPECT_THAT(apply_filter("sobel_x", {}, impulse()).pixels,
              ElementsAre(0, 0, 0, 0, 0, 0, 1, 0, -1, 0, 0, 2, 0, -2, 0, 0, 1, 0, -1, 0, 0, 0, 0, 0, 0));
}

TEST(SobelY, DifferencesRowsAndReplicatesEdges) {
  EXPECT_THAT(apply_filter("sobel_y", {}, one_to_nine).pixels,
              ElementsAre(12, 12, 12, 24, 24, 24, 12, 12, 12));
}

TEST(SobelY, IsPositiveWhereItGrowsBrighterDownwards) {
  EXPECT_THAT(apply_filter("sobel_y", {}, impulse()).pixels,
              ElementsAre(0, 0, 0, 0, 0, 0, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0, -1, -2, -1, 0, 0, 0, 0, 0, 0));
}

struct Window {
  std::string_view filter;
  int weight[3][3];
  int divisor;
};

class Convolution : public testing::TestWithParam<Window> {};

// With small integers float arithmetic is exact in any order.
TEST_P(Convolution, IsTheWeightedSumOfTheReplicatedNeighbourhoodAtEverySize) {
  for (const Size size : telling_sizes) {
    ScalarImage image = noise(size);
    for (float& pixel : image.pixels)
      pixel = std::floor(pixel * 256);
    const ScalarImage result = apply_filter(GetParam().filter, {}, image);
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x) {
        int sum = 0;
        for (int dy = -1; dy <= 1; ++dy) {
          for (int dx = -1; dx <= 1; ++dx) {
            const int sx = std::min(std::max(x + dx, 0), size.width - 1);
            const int sy = std::min(std::max(y + dy, 0), size.height - 1);
            sum += GetParam().weight[dy + 1][dx + 1] * static_cast<int>(image.at(sx, sy));
          }
        }
        ASSERT_EQ(result.at(x, y), static_cast<float>(sum) / static_cast<float>(GetParam().divisor))
            << x << "," << y << " of " << size.width << "x" << size.height;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Windows, Convolution,
                         testing::Values(Window{"blur", {{1, 2, 1}, {2, 4, 2}, {1, 2, 1}}, 16},
                                         Window{"sobel_x", {{-1, 0, 1}, {-2, 0, 2}, {-1, 0, 1}}, 1},
                                         Window{"sobel_y", {{-1, -2, -1}, {0, 0, 0}, {1, 2, 1}}, 1}),
                         [](const auto& instance) { return std::string(instance.param.filter); });

TEST(Threshold, KeepsWhatIsAtOrAbove) {
  EXPECT_EQ(value_of("threshold", {0.5, 0}, 0.75F), 0.75F);
  EXPECT_EQ(value_of("threshold", {0.5, 0}, 0.5F), 0.5F);
  EXPECT_EQ(value_of("threshold", {0.5, 0}, std::nextafter(0.5F, 0.0F)), 0.0F);
  EXPECT_EQ(value_of("threshold", {0.1, 0}, 0.1F), 0.1F);
  EXPECT_EQ(value_of("threshold", {-0.5, 0}, -0.25F), -0.25F);
  EXPECT_EQ(value_of("threshold", {-0.5, 0}, -0.75F), 0.0F);
}

TEST(Threshold, KeepsWhatIsAtOrBelow) {
  EXPECT_EQ(value_of("threshold", {0.5, 1}, 0.25F), 0.25F);
  EXPECT_EQ(value_of("threshold", {0.5, 1}, 0.5F), 0.5F);
  EXPECT_EQ(value_of("threshold", {0.5, 1}, std::nextafter(0.5F, 1.0F)), 0.0F);
  EXPECT_EQ(value_of("threshold", {0.1, 1}, 0.1F), 0.1F);
  EXPECT_EQ(value_of("threshold", {-0.5, 1}, -0.75F), -0.75F);
  EXPECT_EQ(value_of("threshold", {-0.5, 1}, -0.25F), 0.0F);
}

TEST(Binary, IsOneAboveZeroOnly) {
  EXPECT_EQ(value_of("binary", {}, 1.0F), 1.0F);
  EXPECT_EQ(value_of("binary", {}, 0.001F), 1.0F);
  EXPECT_EQ(value_of("binary", {}, 7.0F), 1.0F);
  EXPECT_EQ(value_of("binary", {}, tiniest), 1.0F);
  EXPECT_EQ(value_of("binary", {}, 0.0F), 0.0F);
  EXPECT_EQ(value_of("binary", {}, -0.0F), 0.0F);
  EXPECT_EQ(value_of("binary", {}, -0.5F), 0.0F);
}

TEST(Discretise, RoundsToTheNearestLevel) {
  EXPECT_EQ(value_of("discretise", {2}, 0.49F), 0.0F);
  EXPECT_EQ(value_of("discretise", {2}, 0.51F), 1.0F);
  EXPECT_EQ(value_of("discretise", {3}, 0.3F), 0.5F);
  EXPECT_EQ(value_of("discretise", {5}, 0.6F), 0.5F);
  EXPECT_EQ(value_of("discretise", {5}, 0.9F), 1.0F);
  EXPECT_EQ(value_of("discretise", {3}, -0.4F), -0.5F);
}

TEST(Discretise, RoundsHalfwayToTheEvenLevel) {
  EXPECT_EQ(value_of("discretise", {2}, 0.5F), 0.0F);
  EXPECT_EQ(value_of("discretise", {3}, 0.25F), 0.0F);
  EXPECT_EQ(value_of("discretise", {3}, 0.75F), 1.0F);
}

TEST(Discretise, LeavesItsOwnLevelsAlone) {
  for (int levels : {2, 3, 5, 8, 100, 256, 65536}) {
    for (int level = 0; level < levels; level += std::max(1, levels / 100)) {
      const float value = static_cast<float>(level) / static_cast<float>(levels - 1);
      ASSERT_EQ(value_of("discretise", {static_cast<double>(levels)}, value), value)
          << level << " of " << levels;
    }
  }
}

TEST(Magnitude, IsTheLengthOfTheVector) {
  const auto magnitude = [](float a, float b) {
    return apply_filter(*find_filter("magnitude"), {}, {{{1, 1}, {a}}, {{1, 1}, {b}}}, gray({1, 1}))
        .pixels[0];
  };
  EXPECT_EQ(magnitude(3, 4), 5.0F);
  EXPECT_EQ(magnitude(-3, 4), 5.0F);
  EXPECT_EQ(magnitude(4, -3), 5.0F);
  EXPECT_EQ(magnitude(0, 0), 0.0F);
  EXPECT_EQ(magnitude(-0.5F, 0), 0.5F);
  EXPECT_FLOAT_EQ(magnitude(1, 1), std::numbers::sqrt2_v<float>);
}

class Identity : public testing::TestWithParam<Step> {};

TEST_P(Identity, ReturnsEverySizeToTheBit) {
  for (const Size size : telling_sizes) {
    const ScalarImage image = noise(size);
    EXPECT_EQ(apply_filter(GetParam().filter, GetParam().values, image), image)
        << size.width << "x" << size.height;
  }
}

INSTANTIATE_TEST_SUITE_P(Filters, Identity,
                         testing::Values(Step{"rotate", {0}}, Step{"rotate", {360}}, Step{"rotate", {-360}},
                                         Step{"crop", {1}}, Step{"undistort", {0, 0}},
                                         Step{"threshold", {0, 0}}, Step{"threshold", {1, 1}}),
                         [](const auto& instance) {
                           return std::string(instance.param.filter) + std::to_string(instance.index);
                         });

class CodeValues : public testing::TestWithParam<int> {
 protected:
  CodeValues() : type_(GetParam() > 8 ? ElementType::u16 : ElementType::u8) {}

  ElementType type_;
  double maximum_ = (1 << GetParam()) - 1;
};

TEST_P(CodeValues, SurviveLoadAndStore) {
  ScalarImage codes{.size = {1 << GetParam(), 1}, .pixels = {}};
  for (int code = 0; code < codes.size.width; ++code)
    codes.pixels.push_back(static_cast<float>(code));
  const ScalarImage loaded = apply_filter(load_filter(type_), {maximum_}, {codes}, gray(codes.size));
  EXPECT_EQ(loaded.pixels.front(), 0.0F);
  EXPECT_EQ(loaded.pixels.back(), 1.0F);
  EXPECT_TRUE(std::ranges::is_sorted(loaded.pixels));
  EXPECT_EQ(apply_filter(store_filter(type_), {maximum_}, {loaded}, gray(codes.size)), codes);
}

TEST_P(CodeValues, AreDividedByTheirMaximumToTheLastBit) {
  const auto maximum = static_cast<float>(maximum_);
  ScalarImage codes{.size = {1 << GetParam(), 1}, .pixels = {}};
  for (int code = 0; code < codes.size.width; ++code)
    codes.pixels.push_back(static_cast<float>(code));
  const ScalarImage loaded = apply_filter(load_filter(type_), {maximum_}, {codes}, gray(codes.size));
  for (std::size_t code = 0; code < codes.pixels.size(); ++code)
    ASSERT_EQ(loaded.pixels[code], codes.pixels[code] / maximum);
}

TEST_P(CodeValues, AreClampedWhenStored) {
  const ScalarImage beyond{.size = {4, 1}, .pixels = {-0.25F, -1e9F, 1.25F, 1e9F}};
  const auto maximum = static_cast<float>(maximum_);
  EXPECT_THAT(apply_filter(store_filter(type_), {maximum_}, {beyond}, gray(beyond.size)).pixels,
              ElementsAre(0, 0, maximum, maximum));
}

// Half of an odd maximum is halfway between two codes.
TEST_P(CodeValues, HalfwayAreRoundedUpWhenStored) {
  const ScalarImage half{.size = {1, 1}, .pixels = {0.5F}};
  EXPECT_THAT(apply_filter(store_filter(type_), {maximum_}, {half}, gray(half.size)).pixels,
              Each(static_cast<float>((maximum_ + 1) / 2)));
}

INSTANTIATE_TEST_SUITE_P(Bits, CodeValues, testing::Values(8, 9, 10, 12, 14, 16));

// A measure of light is meaningless for distances from gray.
TEST(Filters, DeclareWhatChromaGetsByDefault) {
  std::vector<std::string> declared;
  for (const Filter& filter : all_filters()) {
    declared.push_back(fmt::format("{} {}", filter.name, name_of(filter.chroma)));
    if (filter.geometric) {
      EXPECT_EQ(filter.chroma, ChromaDefault::filtered) << "the planes of a frame stay together";
    }
  }
  EXPECT_THAT(declared,
              ElementsAre("bilateral filtered", "binary neutral", "blend filtered", "blur filtered",
                          "box filtered", "convolve passes", "crop filtered", "crop_at filtered",
                          "curve passes", "deinterlace filtered", "difference neutral", "discretise passes",
                          "flip filtered", "gaussian filtered", "levels passes", "magnitude neutral",
                          "median filtered", "morphology passes", "overlay filtered", "pad filtered",
                          "perspective filtered", "resize filtered", "rgb2yuv filtered", "rotate filtered",
                          "saturate filtered", "sobel_x neutral", "sobel_y neutral",
                          "temporal_average filtered", "temporal_median filtered", "threshold neutral",
                          "transpose filtered", "undistort filtered", "unsharp passes", "yuv2rgb filtered"));
}

TEST(Filters, AreSortedAndFoundByTheirNames) {
  EXPECT_TRUE(std::ranges::is_sorted(all_filters(), {}, &Filter::name));
  for (const Filter& filter : all_filters())
    EXPECT_EQ(find_filter(filter.name), &filter);
  EXPECT_EQ(find_filter("no_such_filter"), nullptr);
  EXPECT_EQ(find_filter(""), nullptr);
}

}  // namespace
}  // namespace millrace::image
