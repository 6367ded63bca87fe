// Selecting among codes gives the same result as selecting among floats.
#include "millrace/image/filters/filter_testing.h"
#include "millrace/image/layout/conversions.h"
#include "millrace/image/pipeline/presets.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::image {
namespace {

using ::testing::ElementsAre;

PlaneLayout gray_codes(const char* pipeline, Size size, int bits) {
  return lay_out_frame(
             load_pipeline(pipeline).value(),
             {.width = size.width, .height = size.height, .chroma = video::Chroma::gray, .bits = bits})
      .value()
      .planes[0];
}

std::vector<std::string> filters_of(const char* pipeline, int bits = 8) {
  std::vector<std::string> names;
  for (const StageLayout& stage : gray_codes(pipeline, {40, 30}, bits).stages)
    names.emplace_back(stage.filter->name);
  return names;
}

TEST(Conversions, ComeBehindWhatChoosesAmongPixels) {
  EXPECT_THAT(filters_of("median"), ElementsAre("median3_8"));
  EXPECT_THAT(filters_of("median", 10), ElementsAre("median3_16"));
  EXPECT_THAT(filters_of("median | gaussian(1)"),
              ElementsAre("median3_8", "load8", "row_sum", "column_sum", "store8"));
  EXPECT_THAT(filters_of("sobel_x | median"), ElementsAre("load8", "sobel_x", "median3", "store8"));
  EXPECT_THAT(filters_of("[median, input] | magnitude"),
              ElementsAre("median3_8", "load8", "load8", "magnitude", "store8"));
  EXPECT_THAT(filters_of("crop(1) | threshold(0.5)"), ElementsAre("crop_8", "load8", "threshold", "store8"));
}

TEST(Conversions, ComeBehindWhatIsRoundedToACodeAndStored) {
  EXPECT_THAT(filters_of("blur"), ElementsAre("blur_8"));
  EXPECT_THAT(filters_of("blur", 10), ElementsAre("blur_16"));
  EXPECT_THAT(filters_of("median | blur"), ElementsAre("median3_8", "blur_8"));
  EXPECT_THAT(filters_of("blur | median"), ElementsAre("blur_8", "median3_8")) << "rounding keeps the order";
  EXPECT_THAT(filters_of("blur | blur"), ElementsAre("load8", "blur", "blur", "store8")) << "rounded once";
  EXPECT_THAT(filters_of("blur | threshold(0.5)"), ElementsAre("load8", "blur", "threshold", "store8"));
  EXPECT_THAT(filters_of("blur | median | threshold(0.5)"),
              ElementsAre("load8", "blur", "median3", "threshold", "store8"));
}

TEST(Conversions, LeaveSumsOfCodesToWhatMakesCodesOfThem) {
  EXPECT_THAT(filters_of("box(1) | flip(vertical)"),
              ElementsAre("box_rows_8", "box_columns_8", "mirror_rows_8"));
  EXPECT_THAT(filters_of("box(1) | binary"),
              ElementsAre("load8", "box_rows", "box_columns", "binary", "store8"));
  EXPECT_THAT(filters_of("box(1)", 10), ElementsAre("load16", "box_rows", "box_columns", "store16"));
}

TEST(Conversions, AreNoneAroundAResizeOfBytes) {
  EXPECT_THAT(filters_of("resize(60, 50)"), ElementsAre("resample_x_8_first", "resample_y_8_last"));
  EXPECT_THAT(filters_of("resize(10, 10)"), ElementsAre("resample_y_8_first", "resample_x_8_last"));
  EXPECT_THAT(filters_of("resize(60, 50)", 10), ElementsAre("load16", "resample_x", "resample_y", "store16"));
  EXPECT_THAT(filters_of("resize(60, 50) | blur"),
              ElementsAre("load8", "resample_x", "resample_y", "blur", "store8"));
}

TEST(Conversions, LeaveABorderBetweenTwoCodesToTheFiltersThatFollow) {
  EXPECT_THAT(filters_of("pad(1, 2, 3, 4, 0.3)"), ElementsAre("pad_8"));
  EXPECT_THAT(filters_of("pad(1, 2, 3, 4, 0.3) | median"), ElementsAre("pad_8", "median3_8"));
  EXPECT_THAT(filters_of("median | pad(1, 2, 3, 4, 0.3) | blur"),
              ElementsAre("median3_8", "load8", "pad", "blur", "store8"));
  EXPECT_THAT(filters_of("blur | pad(1, 2, 3, 4, 0.3)"), ElementsAre("blur_8", "pad_8"));
}

class ChoicesOnCodes : public testing::TestWithParam<const char*> {};

// The same pipeline on floats, with conversions before and after.
TEST_P(ChoicesOnCodes, KeepEveryBit) {
  std::mt19937 random(5);
  for (const int bits : {8, 10, 16}) {
    const ElementType type = bits > 8 ? ElementType::u16 : ElementType::u8;
    const double maximum = (1 << bits) - 1;
    for (const Size size : {Size{1, 1}, Size{7, 5}, Size{33, 18}}) {
      ScalarImage codes{.size = size, .pixels = std::vector<float>(size.pixels())};
      for (float& code : codes.pixels)
        code = static_cast<float>(random() % (1U << static_cast<unsigned>(bits)));
      const ScalarImage numbers = apply_filter(load_filter(type), {maximum}, {codes}, gray(size));
      const auto layout = lay_out_plane(load_pipeline(GetParam()).value(), gray(size));
      ASSERT_TRUE(layout) << layout.error().message;
      const ScalarImage made = scalar_reference(*layout, numbers);
      const ScalarImage expected = apply_filter(store_filter(type), {maximum}, {made}, gray(made.size));
      EXPECT_EQ(scalar_reference(gray_codes(GetParam(), size, bits), codes), expected)
          << bits << " bits, " << size.width << "x" << size.height;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, ChoicesOnCodes,
                         testing::Values("median", "median(2)", "morphology(open, 2)", "morphology(dilate)",
                                         "flip(both)", "transpose", "crop(1)", "pad(3, 1, 2, 4, 0.3)",
                                         "pad(3, 1, 2, 4, 0.3) | median | sobel_x", "temporal_median(2)",
                                         "median | [sobel_x, flip(vertical)] | magnitude",
                                         "sobel_y | morphology(close)", "threshold(0.4) | median"));

}  // namespace
}  // namespace millrace::image
