#include "millrace/base/options/progress_line.h"
#include "millrace/base/text/byte_count.h"

#include <string>

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(ProgressText, CountsInTheUnitOfTheWork) {
  EXPECT_EQ(progress_text(120, 300, 4, {.plural = "frames"}), "120/300 frames  30.0 frames/s  0:06 left");
  EXPECT_EQ(progress_text(120, {}, 4, {.plural = "images"}), "120 images  30.0 images/s");
  EXPECT_EQ(progress_text(1'200'000'000, 3'400'000'000, 4, progress_in_bytes),
            "1.2 GB/3.4 GB  300.0 MB/s  0:07 left");
}

TEST(ProgressText, SaysNothingOfATimeThatNobodyKnows) {
  EXPECT_EQ(progress_text(0, 300, 4, {.plural = "frames"}), "0/300 frames  0.0 frames/s");
  EXPECT_EQ(progress_text(0, 300, 0, {.plural = "frames"}), "0/300 frames");
  // The total turned out too small.
  EXPECT_EQ(progress_text(400, 300, 4, {.plural = "frames"}), "400/300 frames  100.0 frames/s");
  EXPECT_EQ(progress_text(400, 0, 4, {.plural = "frames"}), "400 frames  100.0 frames/s");
}

TEST(ProgressText, GivesLongTimesInHours) {
  EXPECT_EQ(progress_text(1, 7322, 1, {.plural = "frames"}), "1/7322 frames  1.0 frames/s  2:02:01 left");
}

TEST(ProgressLine, IsSilentWhereStandardErrorIsNoTerminal) {
  testing::internal::CaptureStderr();
  {
    ProgressLine line(true, {.plural = "frames"});
    line.update(1, 2, "note");
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

struct Amount {
  double bytes;
  std::string text;
};

class ByteCount : public testing::TestWithParam<Amount> {};

TEST_P(ByteCount, IsReadable) { EXPECT_EQ(bytes_text(GetParam().bytes), GetParam().text); }

INSTANTIATE_TEST_SUITE_P(Amounts, ByteCount,
                         testing::Values(Amount{0, "0 bytes"}, Amount{999, "999 bytes"},
                                         Amount{1000, "1.0 kB"}, Amount{513'240'000, "513.2 MB"},
                                         Amount{999'960, "1.0 MB"}, Amount{2.5e15, "2.5 PB"},
                                         Amount{7e18, "7000.0 PB"}),
                         [](const auto& test) { return "Case" + std::to_string(test.index); });

}  // namespace
}  // namespace millrace
