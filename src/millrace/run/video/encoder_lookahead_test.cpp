#include "millrace/run/video/encoder_lookahead.h"

#include <gtest/gtest.h>

namespace millrace::run {
namespace {

constexpr double pixels = 352 * 288;

// A run with one frame per batch.
struct BatchByBatch {
  EncoderLookahead lookahead;
  double seconds_a_pixel = 0;  // of the filters, on one CPU
  double waiting = 0;          // in each iteration
  std::int64_t frames = 0;

  void batch() {
    ++frames;
    const double computing = seconds_a_pixel * pixels;
    lookahead.add({.frames_so_far = frames,
                   .pixels_so_far = static_cast<double>(frames) * pixels,
                   .processor_seconds_so_far = static_cast<double>(frames) * computing,
                   .computing = computing,
                   .waiting = waiting});
  }
  std::int64_t batches_until_known() {
    while (!lookahead.known() && frames < 1000)
      batch();
    return frames;
  }
};

TEST(EncoderLookahead, OfOneThatTakesNoneAheadAllCountsFromTheStart) {
  BatchByBatch run{EncoderLookahead(0), 1e-9};
  EXPECT_TRUE(run.lookahead.known());
  EXPECT_DOUBLE_EQ(run.lookahead.bottleneck_share(), 1);
  run.waiting = 5e-9 * pixels;
  for (int i = 0; i < 60; ++i)
    run.batch();
  EXPECT_LT(run.lookahead.bottleneck_share(), 0.1);
}

TEST(EncoderLookahead, NothingIsKnownUntilItIsFullAndTurnsBehindHaveShownWhatBinds) {
  for (const std::int64_t ahead : {1, 8, 64}) {
    BatchByBatch run{EncoderLookahead(ahead), 1e-9};
    EXPECT_GT(run.batches_until_known(), ahead);
    EXPECT_LT(run.frames, ahead + 20);
  }
}

TEST(EncoderLookahead, BehindItRunsThatWaitAreBoundByTheEncoderAndOthersByTheirFilters) {
  BatchByBatch waits{EncoderLookahead(64), 1e-9, 0};
  BatchByBatch computes = waits;
  for (int i = 0; i < 64; ++i)
    waits.batch();
  waits.waiting = 5e-9 * pixels;
  for (int i = 0; i < 60; ++i)
    waits.batch();
  EXPECT_TRUE(waits.lookahead.known());
  EXPECT_LT(waits.lookahead.bottleneck_share(), 0.1);
  for (int i = 0; i < 64 + 60; ++i)
    computes.batch();
  EXPECT_TRUE(computes.lookahead.known());
  EXPECT_GT(computes.lookahead.bottleneck_share(), 0.9);
}

TEST(EncoderLookahead, FiltersThatTakeLongerThanAnyEncoderAreKnownToBindAtOnce) {
  BatchByBatch slow{EncoderLookahead(64), 100e-9};
  EXPECT_EQ(slow.batches_until_known(), 1);
  EXPECT_DOUBLE_EQ(slow.lookahead.bottleneck_share(), 1);
  slow.waiting = 500e-9 * pixels;
  for (int i = 0; i < 60; ++i)
    slow.batch();
  EXPECT_LT(slow.lookahead.bottleneck_share(), 0.1) << "what comes later counts";
}

}  // namespace
}  // namespace millrace::run
