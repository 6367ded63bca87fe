#include "millrace/run/video/shown_time.h"

#include <gtest/gtest.h>

namespace millrace::run {
namespace {

const video::FrameFormat small{.width = 2, .height = 2};

video::Frame frame_at(const video::FrameFormat& format, std::optional<std::int64_t> timestamp) {
  video::Frame frame(format);
  frame.timestamp = timestamp;
  return frame;
}

TEST(ShownTime, IsCountedFromTheFirstFrameOn) {
  video::FrameFormat format = small;
  format.time_base_numerator = 1;
  format.time_base_denominator = 1000;
  ShownTime time(format);
  EXPECT_EQ(time.of(frame_at(format, 5000)), 0);
  EXPECT_DOUBLE_EQ(time.of(frame_at(format, 5033)), 0.033);
  EXPECT_DOUBLE_EQ(time.of(frame_at(format, std::nullopt)), 0.073);
  EXPECT_DOUBLE_EQ(time.inaccuracy(), 0.001);
}

TEST(ShownTime, IsThatOfTheFrameRateWhereThereAreNoTimestamps) {
  ShownTime time(small);
  EXPECT_EQ(time.of(frame_at(small, std::nullopt)), 0);
  EXPECT_DOUBLE_EQ(time.of(frame_at(small, std::nullopt)), 0.04);
  EXPECT_EQ(time.inaccuracy(), 0);
}

TEST(ShownTime, OfAClockThatCountsFramesIsExact) {
  video::FrameFormat format = small;
  format.time_base_numerator = 1;
  format.time_base_denominator = 25;
  EXPECT_EQ(ShownTime(format).inaccuracy(), 0);
  format.time_base_denominator = 60;  // rounds by almost a quarter of a frame
  EXPECT_DOUBLE_EQ(ShownTime(format).inaccuracy(), 0.01);
}

}  // namespace
}  // namespace millrace::run
