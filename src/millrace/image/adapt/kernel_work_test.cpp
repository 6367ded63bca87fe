#include "millrace/image/adapt/kernel_work.h"
#include "millrace/image/layout/frame_layout.h"
#include "millrace/image/layout/grouping.h"
#include "millrace/image/pipeline/presets.h"

#include <gtest/gtest.h>

namespace millrace::image {
namespace {

// For the pipeline as one kernel.
double work_in_one(const char* pipeline, Samples samples = Samples::floats) {
  const auto loaded = load_pipeline(pipeline);
  EXPECT_TRUE(loaded) << pipeline;
  if (!loaded) return 0;
  const auto layout = lay_out_frame(*loaded, {.width = 352, .height = 288}, Planes::luma, samples);
  EXPECT_TRUE(layout) << pipeline;
  if (!layout) return 0;
  const auto& plane = layout->planes.front();
  const GroupLayout groups = lay_out_groups(plane, group_stages(plane, Fusion::all));
  EXPECT_EQ(groups.groups.size(), 1U) << pipeline;
  return kernel_work(groups.output());
}

TEST(KernelWork, OfAStageAloneIsMoreTheMoreItReads) {
  EXPECT_EQ(work_in_one("threshold(0.5)"), 1);
  EXPECT_LT(work_in_one("threshold(0.5)"), work_in_one("blur"));
  EXPECT_LT(work_in_one("blur"), work_in_one("rotate(30)"));
}

TEST(KernelWork, OfPointsIsThatOfAllOfThemOnce) {
  EXPECT_EQ(work_in_one("threshold(0.5) | binary"), 2);
  EXPECT_EQ(work_in_one("blur | threshold(0.5) | binary"), work_in_one("blur") + 2);
  EXPECT_EQ(work_in_one("rotate(30) | binary"), work_in_one("rotate(30)") + 1);
}

TEST(KernelWork, APixelThatTwoPointsReadIsComputedOnce) {
  EXPECT_EQ(work_in_one("blur | [threshold(0.5), discretise(8)] | magnitude"), work_in_one("blur") + 3);
  // The flipped pixel is a different one.
  EXPECT_EQ(work_in_one("blur | [threshold(0.5), flip(horizontal)] | magnitude"),
            2 * work_in_one("blur") + 3);
}

TEST(KernelWork, WhatAWindowReadsIsComputedForEachPixelOfIt) {
  EXPECT_EQ(work_in_one("threshold(0.5) | blur"), 9 + work_in_one("blur"));
  EXPECT_EQ(work_in_one("blur | sobel_x"), 9 * work_in_one("blur") + work_in_one("sobel_x"));
  EXPECT_EQ(work_in_one("blur | blur | blur"), 91 * work_in_one("blur"));
  EXPECT_EQ(work_in_one("box(3)"), 2 + 7 * 2);
  EXPECT_EQ(work_in_one("box(5)"), 2 + 11 * 2);
  EXPECT_EQ(work_in_one("blur | pad(8, 8, 8, 8)"), work_in_one("blur") + work_in_one("pad(8, 8, 8, 8)"))
      << "which reads one";
}

TEST(KernelWork, DoesNotDependOnTheOrderOfBranches) {
  EXPECT_EQ(work_in_one("blur | [threshold(0.5), sobel_x] | magnitude"),
            work_in_one("blur | [sobel_x, threshold(0.5)] | magnitude"));
}

// The first half of a box makes larger numbers from codes, and the second one makes codes from these, which
// is a conversion too.
TEST(KernelWork, OfWindowsOnCodesIsAsMuchAsOnFloats) {
  for (const char* pipeline : {"box(3)", "resize(176,144)", "resize(704,576)"})
    EXPECT_NEAR(work_in_one(pipeline, Samples::codes), work_in_one(pipeline), 2) << pipeline;
}

// Neighbouring pixels of a window share rows. Pixels that a gather requests share nothing.
TEST(KernelWork, AWindowBelowAGatherIsGatheredPixelByPixel) {
  EXPECT_EQ(work_in_one("threshold(0.5) | rotate(30)"), work_in_one("rotate(30)") + 4);
  EXPECT_GT(work_in_one("blur | rotate(30)"), work_in_one("rotate(30)") + 2 * 4 * work_in_one("blur"));
}

}  // namespace
}  // namespace millrace::image
