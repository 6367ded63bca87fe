#include "millrace/base/testing/eventually_testing.h"
#include "millrace/placement/apply/births_under_way.h"
#include "millrace/placement/task/forked_process_testing.h"

#include <csignal>
#include <unistd.h>

#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

TEST(BirthsUnderWay, NoneOfThreadsThatSleepAreStoppedOrGone) {
  const ForkedProcess child([] { pause(); });
  ASSERT_TRUE(child.becomes('S'));
  EXPECT_FALSE(BirthsUnderWay().any({child.number()}));
  kill(child.number(), SIGSTOP);
  ASSERT_TRUE(child.becomes('T'));
  EXPECT_FALSE(BirthsUnderWay().any({child.number()}));
  EXPECT_FALSE(BirthsUnderWay().any({4194304}));
}

TEST(BirthsUnderWay, PerhapsOfOneThatRunsUntilItHasRunForLong) {
  const ForkedProcess child([] {});
  BirthsUnderWay births;
  EXPECT_TRUE(births.any({child.number()}));
  EXPECT_TRUE(eventually([&] { return !births.any({child.number()}); }));
  EXPECT_FALSE(births.any({child.number()})) << "it stays so";
}

TEST(BirthsUnderWay, ItIsLookedAgainUntilNothingNewIsFoundTwice) {
  const ForkedProcess child([] { pause(); });
  ASSERT_TRUE(child.becomes('S'));
  int looks = 0;
  BirthsUnderWay().wait_until_none([&] {
    ++looks;
    return BirthsUnderWay::Look{{child.number()}, looks <= 3 || looks == 5};
  });
  EXPECT_EQ(looks, 7);
}

}  // namespace
}  // namespace millrace::placement
