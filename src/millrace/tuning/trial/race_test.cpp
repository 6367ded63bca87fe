#include "millrace/tuning/trial/race.h"

#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::tuning {
namespace {

struct Outcome {
  Verdict verdict = Verdict::open;
  int challenger_frames = 0;
  int frames = 0;
  double log_ratio = 0;
  double error = 0;
};

// Races two candidates with these log costs on a machine whose log speed drifts by `slope` per frame.
Outcome run_race(double challenger, double noise, double slope, std::uint64_t seed,
                 const Objective& objective = {}) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, noise);
  std::uniform_real_distribution<double> uniform;
  int t = 0;
  const auto frame = [&](double level) {
    const double outlier = uniform(random) < 0.01 ? std::log(2 + 8 * uniform(random)) : 0;
    return level + normal(random) + outlier + slope * t++;
  };
  std::vector<double> before;
  for (int i = 0; i < 8; ++i)
    before.push_back(frame(0));
  Race race(objective, Race::least_margin, noise, before);
  Outcome outcome;
  while (outcome.verdict == Verdict::open) {
    const Race::Next next = race.next();
    const bool warming = race.warming();
    outcome.verdict = race.tell(frame(next.challenger ? challenger : 0) + (warming ? 0.25 : 0), !warming);
    outcome.challenger_frames += next.challenger ? 1 : 0;
    ++outcome.frames;
  }
  outcome.log_ratio = race.log_ratio();
  outcome.error = race.error();
  return outcome;
}

constexpr int races = 400;

class RaceTest : public ::testing::TestWithParam<std::tuple<double, double>> {
 protected:
  [[nodiscard]] static double noise() { return std::get<0>(GetParam()); }
  [[nodiscard]] static double slope() { return std::get<1>(GetParam()); }
  static double share_better(double challenger) {
    int better = 0;
    for (int i = 0; i < races; ++i) {
      better +=
          run_race(challenger, noise(), slope(), static_cast<std::uint64_t>(i)).verdict == Verdict::better;
    }
    return better / static_cast<double>(races);
  }
};

TEST_P(RaceTest, SeldomPromotesAnEqualAndHardlyEverAWorseOne) {
  EXPECT_LT(share_better(0.0), 0.1);
  EXPECT_LE(share_better(0.05), 0.01);
}

TEST_P(RaceTest, MostlyPromotesWhatIsClearlyBetter) { EXPECT_GT(share_better(-3 * noise() - 0.05), 0.85); }

TEST_P(RaceTest, DropsABadChallengerInItsFirstFrames) {
  double frames = 0;
  for (int i = 0; i < races; ++i) {
    const Outcome outcome = run_race(0.1 + 5 * noise(), noise(), slope(), static_cast<std::uint64_t>(i));
    EXPECT_NE(outcome.verdict, Verdict::better);
    frames += outcome.challenger_frames;
  }
  EXPECT_LT(frames / races, 3);
}

INSTANTIATE_TEST_SUITE_P(NoiseAndDrift, RaceTest,
                         ::testing::Combine(::testing::Values(0.03, 0.05, 0.08),
                                            ::testing::Values(-0.002, 0.0, 0.002)));

TEST(Race, DropsAHopelessChallengerInTheFrameThatWarmsUp) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const Outcome outcome = run_race(std::log(10), 0.05, 0, seed);
    EXPECT_EQ(outcome.verdict, Verdict::clearly_worse);
    EXPECT_EQ(outcome.challenger_frames, 1);
  }
}

TEST(Race, AlwaysEnds) {
  for (const Aim aim : {Aim::throughput, Aim::latency, Aim::deadline}) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      EXPECT_LT(run_race(-0.012, 0.08, 0, seed, {.aim = aim, .deadline = 1}).frames, 260);
    }
  }
}

TEST(Race, ItsIntervalHoldsTheTruthAboutAsOftenAsItSays) {
  int inside = 0;
  int finished = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    const Outcome outcome = run_race(-0.02, 0.05, 0.001, seed);
    if (outcome.frames < 60) continue;
    ++finished;
    inside += std::abs(outcome.log_ratio + 0.02) < 1.96 * outcome.error;
  }
  ASSERT_GT(finished, 50);
  EXPECT_GT(inside, 0.88 * finished);
}

TEST(Race, BeginsWithTheIncumbentWhereNothingIsKnownOfIt) {
  Race race({}, Race::least_margin, 0.05, {});
  EXPECT_FALSE(race.next().challenger);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(race.tell(0, true), Verdict::open);
  EXPECT_TRUE(race.next().challenger);
}

TEST(Race, RemembersThatUntrustedFramesTookPart) {
  const std::vector<double> before(8, 0.0);
  Race race({}, Race::least_margin, 0.05, before);
  EXPECT_EQ(race.tell(-0.2, false), Verdict::open);  // warm-up
  EXPECT_FALSE(race.disturbed());
  EXPECT_EQ(race.tell(-0.2, false), Verdict::open);
  EXPECT_TRUE(race.disturbed());
}

}  // namespace
}  // namespace millrace::tuning
