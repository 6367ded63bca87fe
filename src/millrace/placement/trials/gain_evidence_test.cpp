#include "millrace/base/testing/release_only_testing.h"
#include "millrace/placement/trials/gain_evidence.h"

#include <functional>
#include <random>

#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

using Noise = std::function<double(std::mt19937&)>;

double normal(std::mt19937& random) { return std::normal_distribution<double>(0, 0.05)(random); }
// Has neither a mean nor a variance.
double cauchy(std::mt19937& random) { return std::cauchy_distribution<double>(0, 0.05)(random); }
// Nearly always close to nothing, then a jump.
double jumps(std::mt19937& random) {
  const double sign = std::bernoulli_distribution(0.5)(random) ? 1 : -1;
  return sign * (std::bernoulli_distribution(0.05)(random) ? 1 : 0.001);
}

class WithoutGain : public testing::TestWithParam<Noise> {};

// Checked after each of 400 pairs: four minutes of trials.
TEST_P(WithoutGain, ReachesAHundredInLessThanOneOfAHundredRuns) {
  MILLRACE_RELEASE_ONLY();
  std::mt19937 random(1);
  constexpr int runs = 1000;
  int reached = 0;
  for (int run = 0; run < runs; ++run) {
    GainEvidence evidence;
    for (int pair = 0; pair < 400 && evidence.value() < 100; ++pair)
      evidence.add(GetParam()(random));
    if (evidence.value() >= 100) ++reached;
  }
  EXPECT_LE(reached, runs / 100);
}

INSTANTIATE_TEST_SUITE_P(Noises, WithoutGain, testing::Values(normal, cauchy, jumps));

TEST(GainEvidence, GrowsWithAGainAndShrinksWithALoss) {
  std::mt19937 random(1);
  GainEvidence gain;
  GainEvidence loss;
  for (int pair = 0; pair < 12; ++pair) {
    const double noise = normal(random);
    gain.add(0.15 + noise);
    loss.add(-0.15 + noise);
  }
  EXPECT_GT(gain.value(), 500);
  EXPECT_LT(loss.value(), 0.01);
}

// Computed by hand: the first ratio is large compared with the usual 0.03, so the whole stake is won or lost.
TEST(GainEvidence, PaysWhatWasStaked) {
  GainEvidence evidence;
  EXPECT_DOUBLE_EQ(evidence.value(), 1);
  evidence.add(0.5);
  EXPECT_DOUBLE_EQ(evidence.value(), 0.8 * 1.95 + 0.2 * 1.4);
  evidence.add(-0.15);  // half of 0.6 times 0.5
  EXPECT_DOUBLE_EQ(evidence.value(), 0.8 * 1.95 * (1 - 0.95 / 2) + 0.2 * 1.4 * (1 - 0.4 / 2));
}

}  // namespace
}  // namespace millrace::placement
