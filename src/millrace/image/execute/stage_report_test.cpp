#include "millrace/image/execute/stage_report.h"

#include <gtest/gtest.h>

namespace millrace::image {
namespace {

TEST(StageReport, SecondsAFrameAreThoseOfAllItsPixelsAtThePaceOfTheTimedOnes) {
  // 40 frames of 1000 pixels, 10 of which are computed twice in each frame; 4000 of the pixels were timed.
  const StageReport report{.frames = 40,
                           .pixels_computed = 40 * 1010,
                           .pixels_required = 40 * 1000,
                           .timed_ns = 8'000,
                           .timed_pixels = 4'000};
  EXPECT_DOUBLE_EQ(report.seconds_per_frame(), 1010 * 2e-9);
}

TEST(StageReport, SecondsAFrameDoNotDependOnHowManyFramesWereTimed) {
  StageReport report{.frames = 6, .pixels_computed = 600, .timed_ns = 900, .timed_pixels = 300};
  const double half = report.seconds_per_frame();
  report.timed_ns *= 2;
  report.timed_pixels *= 2;
  EXPECT_DOUBLE_EQ(report.seconds_per_frame(), half);
  EXPECT_DOUBLE_EQ(half, 1800e-9 / 6)
      << "where all of them were, it is what they took, divided by the frames";
}

TEST(StageReport, NothingTimedIsNoTime) {
  EXPECT_EQ(StageReport{}.seconds_per_frame(), 0);
  EXPECT_EQ((StageReport{.frames = 3, .pixels_computed = 300}).seconds_per_frame(), 0);
}

}  // namespace
}  // namespace millrace::image
