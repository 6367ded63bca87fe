#include "millrace/report/study/turn_order.h"

#include <map>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace millrace::report {
namespace {

class TurnOrder : public testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] std::size_t count() const { return GetParam(); }
  [[nodiscard]] int rounds() const { return 2 * static_cast<int>(count()); }
};

// A machine that warms up during each round, or is disturbed at its start, must not favour any setting.
TEST_P(TurnOrder, GivesEverySettingEveryTurnAsOften) {
  std::map<std::pair<std::size_t, std::size_t>, int> times;
  for (int round = 0; round < rounds(); ++round)
    for (std::size_t i = 0; i < count(); ++i)
      ++times[{whose_turn(i, round, count()), i}];
  EXPECT_EQ(times.size(), count() * count());
  for (const auto& [which, often] : times)
    EXPECT_EQ(often, 2) << which.first << " at " << which.second;
}

TEST_P(TurnOrder, HasEachFollowTheOtherAsOften) {
  std::map<std::pair<std::size_t, std::size_t>, int> followed;
  for (int round = 0; round < rounds(); ++round)
    for (std::size_t i = 1; i < count(); ++i)
      ++followed[{whose_turn(i - 1, round, count()), whose_turn(i, round, count())}];
  for (const auto& [pair, often] : followed)
    EXPECT_EQ(often, (followed[{pair.second, pair.first}])) << pair.first << " before " << pair.second;
}

INSTANTIATE_TEST_SUITE_P(Counts, TurnOrder, testing::Values(1, 2, 3, 4, 7, 30),
                         [](const auto& test) { return std::to_string(test.param); });

}  // namespace
}  // namespace millrace::report
