#include "millrace/run/video/bound_wait.h"

#include <gtest/gtest.h>

namespace millrace::run {
namespace {

TEST(BoundWait, ChargesWhatIsWaitedBeyondWhatIsWaitedUnbound) {
  BoundWait wait;
  for (int turn = 0; turn < 200; ++turn)
    EXPECT_EQ(wait.add(1, 0.002, false), 0);
  EXPECT_NEAR(wait.add(1, 0.005, true), 0.003, 1e-4);
  EXPECT_NEAR(wait.add(4, 0.020, true), 0.012, 1e-4);
  // Waiting less than unpinned is no advantage: schedules are ranked by computing time.
  EXPECT_EQ(wait.add(1, 0.001, true), 0);
  // Pinned waits do not change the average.
  EXPECT_NEAR(wait.add(1, 0.005, true), 0.003, 1e-4);
}

TEST(BoundWait, ChargesNothingUntilItKnowsWhatIsWaitedUnbound) {
  BoundWait wait;
  for (int turn = 0; turn < 20; ++turn)
    EXPECT_EQ(wait.add(2, 0.004, true), 0);
  EXPECT_EQ(wait.add(2, 0.002, false), 0);
  EXPECT_NEAR(wait.add(2, 0.004, true), 0.002, 1e-9);
}

TEST(BoundWait, KnowsItFromTheFirstTurnsOnToo) {
  for (int turns = 1; turns < 40; ++turns) {
    BoundWait wait;
    for (int turn = 0; turn < turns; ++turn)
      EXPECT_EQ(wait.add(1, 0.002, false), 0);
    EXPECT_NEAR(wait.add(1, 0.005, true), 0.003, 1e-9) << turns;
  }
}

}  // namespace
}  // namespace millrace::run
