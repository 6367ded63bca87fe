#include "millrace/run/video/pinned_io_wait.h"

#include <gtest/gtest.h>

namespace millrace::run {
namespace {

TEST(PinnedIoWait, ChargesWhatIsWaitedBeyondWhatIsWaitedUnbound) {
  PinnedIoWait wait;
  for (int batch = 0; batch < 200; ++batch)
    EXPECT_EQ(wait.add(1, 0.002, false), 0);
  EXPECT_NEAR(wait.add(1, 0.005, true), 0.003, 1e-4);
  EXPECT_NEAR(wait.add(4, 0.020, true), 0.012, 1e-4);
  // Waiting less than unpinned is no advantage: schedules are ranked by computing time.
  EXPECT_EQ(wait.add(1, 0.001, true), 0);
  // Pinned waits do not change the average.
  EXPECT_NEAR(wait.add(1, 0.005, true), 0.003, 1e-4);
}

TEST(PinnedIoWait, ChargesNothingUntilItKnowsWhatIsWaitedUnbound) {
  PinnedIoWait wait;
  for (int batch = 0; batch < 20; ++batch)
    EXPECT_EQ(wait.add(2, 0.004, true), 0);
  EXPECT_EQ(wait.add(2, 0.002, false), 0);
  EXPECT_NEAR(wait.add(2, 0.004, true), 0.002, 1e-9);
}

TEST(PinnedIoWait, KnowsItFromTheFirstTurnsOnToo) {
  for (int batches = 1; batches < 40; ++batches) {
    PinnedIoWait wait;
    for (int batch = 0; batch < batches; ++batch)
      EXPECT_EQ(wait.add(1, 0.002, false), 0);
    EXPECT_NEAR(wait.add(1, 0.005, true), 0.003, 1e-9) << batches;
  }
}

}  // namespace
}  // namespace millrace::run
