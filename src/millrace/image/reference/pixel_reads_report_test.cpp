#include "millrace/image/reference/pixel_reads_report.h"
#include "millrace/image/reference/reference_testing.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::image {
namespace {

using testing::HasSubstr;
using testing::Not;

PixelReads counted(char pipeline) {
  const Size size{20, 10};
  return count_pixel_reads(lay_out_plane(table_pipeline(pipeline), gray(size)).value(), noise(size));
}

TEST(PixelReadsReport, PrintsALineForEachStage) {
  const std::string text = to_text(counted('A'));
  EXPECT_EQ(text, "source pixels read per pixel of the 20x10 frame\n"
                  "stage      sequential  backward  backward-cached\n"
                  "blur             9.00    162.00             9.00\n"
                  "sobel_x          9.00      9.00             9.00\n"
                  "sobel_y          9.00      9.00             9.00\n"
                  "magnitude        2.00      2.00             2.00\n"
                  "threshold        1.00      1.00             1.00\n");
}

TEST(PixelReadsReport, SaysWhatACropIsRelativeToWhereThereIsOne) {
  EXPECT_THAT(to_text(counted('B')), HasSubstr("crop: of its own output"));
  EXPECT_THAT(to_text(counted('D')), Not(HasSubstr("crop")));
}

TEST(PixelReadsReport, KeepsColumnsAlignedForLongNumbers) {
  const PixelReads deep{.frame = {2, 2}, .stages = {{.name = "blur", .pixels = 1, .reads = {9, 1e15, 9}}}};
  std::istringstream lines(to_text(deep));
  std::string heading;
  std::string row;
  std::getline(lines, heading);
  std::getline(lines, heading);
  std::getline(lines, row);
  EXPECT_EQ(heading.size(), row.size());
}

TEST(PixelReadsReport, JsonHoldsCountsAndRates) {
  const nlohmann::json json = to_json(counted('A'));
  EXPECT_EQ(json["frame"]["width"], 20);
  EXPECT_EQ(json["frame"]["height"], 10);
  ASSERT_EQ(json["stages"].size(), 5U);
  const nlohmann::json& blur = json["stages"][0];
  EXPECT_EQ(blur["name"], "blur");
  EXPECT_EQ(blur["pixels"], 200);
  EXPECT_EQ(blur["reads"]["backward"], 162 * 200);
  EXPECT_EQ(blur["reads_per_pixel"]["backward"], 162);
  EXPECT_EQ(blur["reads_per_pixel"]["backward-cached"], 9);
  EXPECT_EQ(blur["reads_per_pixel"]["sequential"], 9);
}

}  // namespace
}  // namespace millrace::image
