#include "millrace/report/study/mean_interval.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::report {
namespace {

// By hand: mean 3, standard deviation sqrt(2.5), t with 4 degrees of freedom 2.776.
TEST(MeanIntervalTest, is_the_mean_and_what_students_t_says) {
  const std::vector<double> values{1, 2, 3, 4, 5};
  const MeanInterval interval = mean_interval(values);
  EXPECT_DOUBLE_EQ(interval.mean, 3);
  EXPECT_NEAR(interval.high - 3, 2.776 * std::sqrt(2.5 / 5), 1e-9);
  EXPECT_NEAR(3 - interval.low, interval.high - 3, 1e-12);
}

TEST(MeanIntervalTest, one_value_stands_alone) {
  const std::vector<double> values{7};
  const MeanInterval interval = mean_interval(values);
  EXPECT_EQ(interval.low, 7);
  EXPECT_EQ(interval.high, 7);
}

// With two rounds the factor of Student's t is 12.7, so intervals are extremely wide.
TEST(MeanIntervalTest, of_too_few_rounds_is_bounded_and_said_not_to_be_known) {
  for (const double apart : {0.0, 0.01, 0.1, 0.5, 2.0, 20.0, 1e6}) {
    const std::vector<double> one{1, 1 + apart};
    const std::vector<double> other{1 + apart, 1};
    const MeanInterval mean = mean_interval(one);
    EXPECT_GE(mean.low, 0);
    EXPECT_LE(mean.high, 2 * mean.mean);
    const MeanInterval ratio = ratio_interval(one, other);
    EXPECT_GE(ratio.low, ratio.mean / 10 - 1e-12);
    EXPECT_LE(ratio.high, ratio.mean * 10 + 1e-12);
    EXPECT_EQ(ratio.known, apart < 0.2) << apart;
    EXPECT_TRUE(apart < 1 || !mean.known) << apart;
  }
  EXPECT_FALSE(mean_interval(std::vector<double>{3}).known);
  EXPECT_FALSE(ratio_interval(std::vector<double>{3}, std::vector<double>{2}).known);
}

TEST(RatioInterval, what_slows_down_both_turns_alike_does_not_count) {
  const std::vector<double> one{2, 20, 4, 200};
  const std::vector<double> other{1, 10, 2, 100};
  const MeanInterval interval = ratio_interval(one, other);
  EXPECT_NEAR(interval.mean, 2, 1e-9);
  EXPECT_NEAR(interval.low, 2, 1e-9);
  EXPECT_NEAR(interval.high, 2, 1e-9);
}

TEST(RatioInterval, a_single_turn_that_was_disturbed_does_not_decide) {
  const std::vector<double> one{2.0, 2.1, 1.9, 2.0, 90.0, 2.1, 1.9};
  const std::vector<double> other{1, 1, 1, 1, 1, 1, 1};
  const MeanInterval interval = ratio_interval(one, other);
  EXPECT_NEAR(interval.mean, 2, 0.15);
  EXPECT_GT(interval.low, 1.5);
}

TEST(RatioInterval, is_geometric_so_that_the_inverse_is_the_inverse) {
  const std::vector<double> one{1, 4, 2};
  const std::vector<double> other{2, 1, 1.5};
  const MeanInterval there = ratio_interval(one, other);
  const MeanInterval back = ratio_interval(other, one);
  EXPECT_NEAR(there.mean * back.mean, 1, 1e-12);
  EXPECT_NEAR(there.low * back.high, 1, 1e-12);
}

}  // namespace
}  // namespace millrace::report
