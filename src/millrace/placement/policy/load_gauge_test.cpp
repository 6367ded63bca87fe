#include "millrace/base/error/clock.h"
#include "millrace/placement/policy/load_gauge.h"

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

constexpr std::int64_t tenth_ns = 100'000'000;

TEST(LoadOfOthers, IsWithoutWhatMainHadOfItsCpu) {
  const std::map<pid_t, MainRun> before = {{7, {.run_ns = 1'000'000, .cpu = 0}}};
  const std::map<pid_t, MainRun> now = {{7, {.run_ns = 61'000'000, .cpu = 1}}};
  EXPECT_THAT(load_of_others({0.5, 0.9}, tenth_ns, before, now), ElementsAre(0.5, DoubleNear(0.3, 1e-9)));
}

TEST(LoadOfOthers, IsNeverBelowNothingAndPassesOverWhoWasNotThere) {
  const std::map<pid_t, MainRun> before = {{7, {.run_ns = 0, .cpu = 0}}};
  const std::map<pid_t, MainRun> now = {{7, {.run_ns = 90'000'000, .cpu = 0}},
                                        {8, {.run_ns = 90'000'000, .cpu = 1}},
                                        {9, {.run_ns = 90'000'000, .cpu = 64}}};
  EXPECT_THAT(load_of_others({0.5, 0.9}, tenth_ns, before, now), ElementsAre(0, 0.9));
}

TEST(LoadGauge, TellsOfTheTimeBetweenLooksThatAreTwoTicksApart) {
  LoadGauge gauge;
  const pid_t self = getpid();
  const std::int64_t now = now_ns();
  EXPECT_FALSE(gauge.look(now, {&self, 1})) << "nothing to compare with";
  EXPECT_FALSE(gauge.due(now + 1'000'000));
  EXPECT_FALSE(gauge.look(now + 1'000'000, {&self, 1}));
  const auto load = gauge.look(now + 30'000'000, {&self, 1});
  ASSERT_TRUE(load);
  ASSERT_FALSE(load->empty());
  for (const double share : *load) {
    EXPECT_GE(share, 0);
    EXPECT_LE(share, 1);
  }
}

}  // namespace
}  // namespace millrace::placement
