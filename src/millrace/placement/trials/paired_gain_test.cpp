#include "millrace/placement/trials/paired_gain.h"

#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

TEST(PairedGain, OfNothingOrOnePairPromisesNothing) {
  EXPECT_EQ(estimate_gain({}, Confidence::p95).pairs, 0);
  const double one[] = {0.3};
  const GainEstimate gain = estimate_gain(one, Confidence::p95);
  EXPECT_DOUBLE_EQ(gain.mean, 0.3);
  EXPECT_TRUE(std::isinf(gain.low));
  EXPECT_TRUE(std::isinf(gain.high));
}

TEST(PairedGain, IntervalOfThreeEvenValuesIsStudents) {
  const double values[] = {0.1, 0.2, 0.3};
  const GainEstimate gain = estimate_gain(values, Confidence::p95);
  const double reach = 4.303 * 0.1 / std::sqrt(3.0);
  EXPECT_NEAR(gain.mean, 0.2, 1e-12);
  EXPECT_NEAR(gain.low, 0.2 - reach, 1e-9);
  EXPECT_NEAR(gain.high, 0.2 + reach, 1e-9);
}

TEST(PairedGain, OneDisturbedPairDoesNotDecide) {
  std::vector<double> values = {0.01, 0.02, 0.00, 0.015, 0.005, 0.012, 0.008};
  const double calm = estimate_gain(values, Confidence::p95).mean;
  values.push_back(5);
  EXPECT_LT(std::abs(estimate_gain(values, Confidence::p95).mean - calm), 0.01);
}

class Coverage : public testing::TestWithParam<int> {};

// The limits on outliers narrow intervals of normal noise a little, so 95 % may become 90 %, not less.
TEST_P(Coverage, OfTheIntervalIsNearlyWhatItSays) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  std::normal_distribution<double> noise(0.05, 0.1);
  int covered = 0;
  constexpr int repetitions = 4000;
  for (int i = 0; i < repetitions; ++i) {
    std::vector<double> values(static_cast<std::size_t>(GetParam()));
    for (double& value : values)
      value = noise(random);
    const GainEstimate gain = estimate_gain(values, Confidence::p95);
    if (gain.low <= 0.05 && 0.05 <= gain.high) ++covered;
  }
  EXPECT_GT(covered, 0.90 * repetitions);
  EXPECT_LT(covered, 0.98 * repetitions);
}

INSTANTIATE_TEST_SUITE_P(Pairs, Coverage, testing::Values(2, 3, 4, 5, 8, 12, 20, 40));

}  // namespace
}  // namespace millrace::placement
