#include "millrace/base/numbers/median.h"
#include "millrace/base/testing/release_only_testing.h"
#include "millrace/placement/trials/plan_trials.h"
#include "millrace/placement/trials/plans_testing.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

// A program whose rate drifts and scatters, with the speed factor of each plan over time.
struct SimulatedProgram {
  std::function<double(const Plan&, double)> factor;
  double noise = 0.05;
  unsigned seed = 1;
  double window = 0.15;  // seconds of one window
};

struct SimulatedRun {
  PlanTrials trials;
  double untouched_share = 0;  // of the time
  double mean_factor = 0;
};

SimulatedRun simulate(const SimulatedProgram& program, double seconds, std::optional<Plan> remembered = {}) {
  std::mt19937 random(program.seed);
  std::normal_distribution<double> noise(0, program.noise);
  std::bernoulli_distribution disturbed(0.03);
  SimulatedRun run{.trials = PlanTrials({batch, long_slice, one_to_one}, {.seed = program.seed}, remembered)};
  double time = 0;
  while (time < seconds) {
    const PlanTrials::Window window = run.trials.ask();
    const double factor = program.factor(window.plan, time);
    const double drift = 1 + 0.3 * std::sin(time / 7);
    run.trials.tell(100 * drift * factor * std::exp(noise(random)) * (disturbed(random) ? 0.4 : 1),
                    program.window);
    time += program.window;
    run.mean_factor += factor * program.window;
    if (window.plan.untouched()) run.untouched_share += program.window;
  }
  run.mean_factor /= time;
  run.untouched_share /= time;
  return run;
}

int count(const PlanTrials& trials, TrialEvent::Kind kind) {
  return static_cast<int>(
      std::ranges::count_if(trials.events(), [kind](const TrialEvent& event) { return event.kind == kind; }));
}

TEST(PlanTrials, TakeAGainThatStandsOutOfTheNoise) {
  int taken = 0;
  constexpr int runs = 100;
  for (unsigned seed = 1; seed <= runs; ++seed) {
    const auto run =
        simulate({[](const Plan& plan, double) { return plan == batch ? 1.15 : 1; }, 0.04, seed}, 20);
    if (run.trials.plan() == batch) ++taken;
  }
  EXPECT_GE(taken, 90);
}

class NothingToGain : public testing::TestWithParam<int> {};

// A plan that was ever taken counts, even if it was taken back.
TEST_P(NothingToGain, IsGivenAPlanInLessThanOneOfAHundredRuns) {
  MILLRACE_RELEASE_ONLY();
  int taken = 0;
  constexpr int runs = 300;
  for (unsigned seed = 1; seed <= runs; ++seed) {
    const auto run = simulate({[](const Plan&, double) { return 1.0; }, 0.05, seed}, GetParam());
    if (count(run.trials, TrialEvent::Kind::taken) > 0) ++taken;
  }
  EXPECT_LE(taken, runs / 100);
}

INSTANTIATE_TEST_SUITE_P(Seconds, NothingToGain, testing::Values(30, 600),
                         [](const auto& test) { return std::to_string(test.param); });

TEST(PlanTrials, NeverTakeWhatMakesThingsWorseAndLoseLittleByTryingIt) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    const auto run =
        simulate({[](const Plan& plan, double) { return plan.untouched() ? 1 : 0.6; }, 0.05, seed}, 60);
    EXPECT_TRUE(run.trials.plan().untouched()) << seed;
    EXPECT_GT(run.mean_factor, 0.98) << seed;
  }
}

TEST(PlanTrials, TakeBackAGainThatIsGone) {
  int back = 0;
  constexpr int runs = 30;
  for (unsigned seed = 1; seed <= runs; ++seed) {
    const auto factor = [](const Plan& plan, double time) {
      if (plan != batch) return 1.0;
      return time < 30 ? 1.2 : 0.9;
    };
    const auto run = simulate({factor, 0.04, seed}, 150);
    if (count(run.trials, TrialEvent::Kind::taken) > 0 && run.trials.plan().untouched()) ++back;
  }
  EXPECT_GE(back, 27);
}

TEST(PlanTrials, KeepAGainThatLastsAndSpendLittleOnChecks) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const auto run =
        simulate({[](const Plan& plan, double) { return plan == batch ? 1.25 : 1; }, 0.03, seed}, 200);
    if (count(run.trials, TrialEvent::Kind::taken) == 0) continue;
    EXPECT_EQ(run.trials.plan(), batch) << seed;
    EXPECT_LT(run.untouched_share, 0.07) << seed;
  }
}

TEST(PlanTrials, BeginWithWhatIsRememberedAndCheckIt) {
  const auto good =
      simulate({[](const Plan& plan, double) { return plan == one_to_one ? 1.2 : 1; }}, 30, one_to_one);
  EXPECT_EQ(good.trials.plan(), one_to_one);
  EXPECT_GE(count(good.trials, TrialEvent::Kind::kept), 1);
  const auto bad =
      simulate({[](const Plan& plan, double) { return plan == one_to_one ? 0.8 : 1; }}, 30, one_to_one);
  EXPECT_TRUE(bad.trials.plan().untouched());
  EXPECT_EQ(count(bad.trials, TrialEvent::Kind::taken_back), 1);
  EXPECT_TRUE(bad.trials.concluded());
}

TEST(PlanTrials, LeaveAProgramInPeaceThatWasLearntToNeedNothing) {
  const auto run = simulate({[](const Plan&, double) { return 1.0; }}, 20, Plan());
  EXPECT_EQ(run.untouched_share, 1);
  EXPECT_FALSE(run.trials.concluded());
}

TEST(PlanTrials, DoNotJudgeAProgramThatShowsNoProgress) {
  PlanTrials trials({batch, long_slice}, TrialOptions());
  for (int i = 0; i < 100; ++i) {
    std::ignore = trials.ask();
    trials.tell(i % 2 == 0 ? std::nullopt : std::optional(0.0), trials.ask().seconds);
  }
  EXPECT_TRUE(trials.plan().untouched());
  EXPECT_FALSE(trials.concluded());
  EXPECT_EQ(trials.trying(), nullptr);
}

TEST(PlanTrials, PassOverWhatWouldChangeNothing) {
  PlanTrials trials({batch, long_slice}, TrialOptions());
  EXPECT_EQ(*trials.trying(), batch);
  trials.skip();
  EXPECT_EQ(*trials.trying(), long_slice);
  trials.skip();
  EXPECT_EQ(trials.trying(), nullptr);
}

// As x264 reports its frames: every quarter of a second, from 0.45 s on.
TEST(PlanTrials, DecideAGainOfAQuarterInFiveSecondsOfReportsEachQuarterSecond) {
  std::vector<double> decided;
  for (unsigned seed = 1; seed <= 101; ++seed) {
    const auto run = simulate({.factor = [](const Plan& plan, double) { return plan == batch ? 1.25 : 1; },
                               .seed = seed,
                               .window = 0.25},
                              30);
    decided.push_back(run.trials.events().empty() ? 30 : run.trials.events().front().time);
  }
  EXPECT_LE(median(decided), 5.5);
}

TEST(PlanTrials, TellOfEachDecisionInOneLine) {
  const TrialEvent event{
      TrialEvent::Kind::taken, 3.21, batch, {std::log(1.123), std::log(1.081), std::log(1.165), 9}, ""};
  EXPECT_EQ(to_string(event), "at 3.2 s took class batch: +12.3 % (+8.1 to +16.5, 9 pairs)");
  const TrialEvent soon{TrialEvent::Kind::dropped, 1, batch, {std::log(0.5), -1e9, 1e9, 2}, "clearly slower"};
  EXPECT_EQ(to_string(soon), "at 1.0 s dropped class batch: -50.0 % (2 pairs), clearly slower");
}

}  // namespace
}  // namespace millrace::placement
