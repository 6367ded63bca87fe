#include "millrace/run/video/batch_observer.h"

#include <gtest/gtest.h>

namespace millrace::run {
namespace {

// A batch of one frame of a small picture, whose filters take a millisecond.
FrameTime batch_of(double input_wait, double output_wait) {
  return {.frames = 1, .computing = 1e-3, .input_wait = input_wait, .output_wait = output_wait};
}

image::BatchFeedback add(BatchObserver& observer, std::int64_t frames, double input_wait, double output_wait,
                         bool io_pinned = false) {
  return observer.add(batch_of(input_wait, output_wait),
                      {.frames = frames,
                       .pixels = 1e6 * static_cast<double>(frames),
                       .processor_seconds = 1e-3 * static_cast<double>(frames),
                       .io_pinned = io_pinned});
}

TEST(BatchObserver, KnowsNoBottleneckUntilTheLookaheadIsFull) {
  BatchObserver observer(20);
  EXPECT_FALSE(observer.feedback().bottleneck_share);
  for (int frame = 1; frame <= 20; ++frame)
    EXPECT_FALSE(add(observer, frame, 0, 0).bottleneck_share) << frame;
  image::BatchFeedback feedback;
  for (int frame = 21; frame < 60; ++frame)
    feedback = add(observer, frame, 0, 0);
  ASSERT_TRUE(feedback.bottleneck_share);
  EXPECT_GT(*feedback.bottleneck_share, 0.9) << "a run that never waits is bound by its filters";
}

TEST(BatchObserver, CountsNeitherBottleneckNorCostOfTheFirstBatch) {
  BatchObserver observer;
  const image::BatchFeedback feedback = add(observer, 1, 10, 10, true);
  EXPECT_EQ(feedback.bottleneck_share, 1);
  EXPECT_EQ(feedback.cost, 0);
  EXPECT_EQ(feedback.handover, 10) << "the frame did wait";
}

TEST(BatchObserver, TellsHowLongEachBatchWaitedToBePassedOn) {
  BatchObserver observer;
  for (int frame = 1; frame < 10; ++frame)
    EXPECT_EQ(add(observer, frame, 0.5, 1e-4 * frame).handover, 1e-4 * frame);
}

TEST(BatchObserver, ChargesPinnedInputAndOutputForLongerWaits) {
  BatchObserver observer;
  for (int frame = 1; frame < 100; ++frame)
    EXPECT_EQ(add(observer, frame, 1e-3, 1e-3).cost, 0);
  EXPECT_NEAR(add(observer, 100, 3e-3, 2e-3, true).cost, 3e-3, 1e-5);
}

}  // namespace
}  // namespace millrace::run
