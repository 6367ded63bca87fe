#include "millrace/base/numbers/median.h"
#include "millrace/base/testing/release_only_testing.h"
#include "millrace/tuning/record/decision_report.h"
#include "millrace/tuning/tuner/simulated_stream_testing.h"

#include <array>
#include <numeric>
#include <random>
#include <span>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::tuning {
namespace {

using testing::Noise;
using testing::run_tuner;
using testing::SimulatedWorkload;
using testing::StreamOptions;
using testing::StreamResult;

constexpr testing::WorkloadSize middle{.tiles = 4};

Tuner tuner_for(const SimulatedWorkload& workload, TunerOptions options) {
  auto tuner = Tuner::make(workload.space(), std::move(options));
  EXPECT_TRUE(tuner) << tuner.error().message;
  return std::move(*tuner);
}

std::string time_line(const Tuner& tuner, const Space& space) {
  std::string text;
  for (const Event& event : tuner.record().events())
    text += describe(event, space, tuner.start_time()) + "\n";
  return text;
}

TEST(Tuner, StartsWithTheBestGuess) {
  const SimulatedWorkload workload(middle, 0.001, 1);
  const auto prior = workload.prior(1);
  const int best_guess = static_cast<int>(std::ranges::min_element(prior) - prior.begin());
  EXPECT_EQ(tuner_for(workload, {.prior = prior}).ask().candidate, best_guess);
  EXPECT_EQ(tuner_for(workload, {.first = {7, 5}, .prior = prior}).ask().candidate, 7);
  EXPECT_EQ(tuner_for(workload, {.remembered = Remembered{.incumbent = 9}}).ask().candidate, 9);
  EXPECT_EQ(tuner_for(workload, {}).ask().candidate, 0);
}

TEST(Tuner, TriesTheSuggestedCandidatesFirstInTheirOrder) {
  SimulatedWorkload workload(middle, 0.001, 1);
  Tuner tuner = tuner_for(workload, {.first = {400, 30, 20, 10}});
  static_cast<void>(run_tuner(workload, tuner, {.seconds = 2}));
  std::vector<int> tried;
  for (const Event& event : tuner.record().events()) {
    if (event.kind == EventKind::trial && event.chosen == Reason::suggested) tried.push_back(event.candidate);
  }
  EXPECT_THAT(tried, ::testing::ElementsAre(30, 20, 10));
}

TEST(Tuner, WhereTheFirstGuessCannotRunTheNextOneBegins) {
  const SimulatedWorkload workload(middle, 0.001, 1);
  Tuner tuner = tuner_for(workload, {.first = {7, 5}, .remembered = Remembered{.incumbent = 9}});
  ASSERT_EQ(tuner.ask().candidate, 9);
  ASSERT_TRUE(tuner.cannot_run(std::array{9}));
  ASSERT_EQ(tuner.ask().candidate, 7);
  ASSERT_TRUE(tuner.cannot_run(std::array{7, 8}));
  ASSERT_EQ(tuner.ask().candidate, 5);
  tuner.tell({.candidate = 5, .time = 1000, .seconds = 0.001});
  EXPECT_THAT(tuner.explain(), ::testing::HasSubstr("takes the place of one that the machine refused"));
  const auto events = tuner.record().events();
  ASSERT_EQ(events.size(), 3U);
  for (const Event& event : events)
    EXPECT_EQ(event.time, tuner.start_time());
}

// The caller's stand-in runs under its name until it is compiled.
TEST(Tuner, WhereNothingIsCompiledTheFirstGuessBeginsAllTheSame) {
  const SimulatedWorkload workload(middle, 0.001, 1);
  const std::vector<int> one_build(static_cast<std::size_t>(workload.space().size()), 0);
  Tuner tuner = tuner_for(workload, {.first = {7, 5}, .build = one_build});
  EXPECT_EQ(tuner.ask().candidate, 7);
}

TEST(Tuner, TheLastThatIsLeftCannotBeRefused) {
  const SimulatedWorkload workload({.structures = 2, .fusions = 1, .tiles = 1, .in_flight = 1}, 0.001, 1);
  const int size = workload.space().size();
  Tuner tuner = tuner_for(workload, {});
  std::vector<int> all(static_cast<std::size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  EXPECT_FALSE(tuner.cannot_run(all));
  EXPECT_EQ(tuner.ask().candidate, 0);
  EXPECT_EQ(tuner.record().count(EventKind::refused), 0);
  ASSERT_TRUE(tuner.cannot_run(std::span(all).first(all.size() - 1)));
  EXPECT_EQ(tuner.ask().candidate, size - 1);
  EXPECT_FALSE(tuner.cannot_run(std::span(all).last(1)));
  EXPECT_EQ(tuner.ask().candidate, size - 1);
}

TEST(Tuner, RefusesOptionsThatDoNotFitTheSpace) {
  const SimulatedWorkload workload(middle, 0.001, 1);
  const auto refused = [&](TunerOptions options) {
    return !Tuner::make(workload.space(), std::move(options));
  };
  EXPECT_TRUE(refused({.first = {-1}}));
  EXPECT_TRUE(refused({.prior = {1.0}}));
  EXPECT_TRUE(
      refused({.prior = std::vector<double>(static_cast<std::size_t>(workload.space().size()), 0.0)}));
  EXPECT_TRUE(refused({.build = {1}}));
  EXPECT_TRUE(refused({.resources = {1}}));
  EXPECT_TRUE(refused({.objective = {.aim = Aim::deadline}}));
  EXPECT_TRUE(refused({.remembered = Remembered{.incumbent = workload.space().size()}}));
}

TEST(Tuner, WithOneCandidateItRunsThatOne) {
  const auto space = Space::make({{"only", {"one"}}}, [](auto) { return true; });
  auto tuner = Tuner::make(*space, {});
  for (int i = 1; i < 2000; ++i) {
    const Trial trial = tuner->ask();
    EXPECT_EQ(trial.candidate, 0);
    tuner->tell({.candidate = 0, .time = 0.01 * i, .seconds = 0.01 * (i % 2 + 1)});
  }
  EXPECT_EQ(tuner->record().count(EventKind::trial), 0);
}

struct Situation {
  testing::WorkloadSize size;
  double frame_seconds;
};

class TunerTest : public ::testing::TestWithParam<std::tuple<Situation, int>> {
 protected:
  [[nodiscard]] static const Situation& situation() { return std::get<0>(GetParam()); }
  [[nodiscard]] static std::uint64_t seed() { return static_cast<std::uint64_t>(std::get<1>(GetParam())); }
  [[nodiscard]] static SimulatedWorkload workload() {
    return {situation().size, situation().frame_seconds, seed()};
  }
};

TEST_P(TunerTest, GivesTheSameAnswersToTheSameObservations) {
  std::string lines[2];
  for (std::string& line : lines) {
    SimulatedWorkload work = workload();
    Tuner tuner = tuner_for(work, {.seed = seed(), .prior = work.prior(seed()), .record_length = 4000});
    static_cast<void>(run_tuner(work, tuner, {.seconds = 10, .seed = seed()}));
    line = time_line(tuner, work.space());
  }
  EXPECT_EQ(lines[0], lines[1]);
}

// Protects a stream from its tuner for any costs of the candidates. Changes are announced, so that the number
// of granted opening budgets is known.
TEST_P(TunerTest, LosesNoMoreThanItsBudgetAndOneBlock) {
  SimulatedWorkload work = workload();
  Tuner tuner = tuner_for(work, {.seed = seed(), .record_length = 4000});
  const BudgetOptions budget;
  double worst_frame = 0;
  double latest = 0;
  StreamOptions options{.seconds = 20, .seed = seed()};
  options.watch = [&](const Observation& observation, const Tuner& watched) {
    latest = observation.time;
    worst_frame = std::max(worst_frame, observation.seconds);
    const auto openings = static_cast<double>(1 + watched.record().count(EventKind::drift) +
                                              watched.record().count(EventKind::incumbent));
    const double accrued = openings * budget.opening_share * budget.opening_seconds +
                           latest * budget.steady_share + openings * 3 * worst_frame;
    const double most = budget.opening_share * budget.opening_seconds + budget.most_share * latest;
    ASSERT_LE(watched.seconds_lost(), std::min({accrued, most + openings * 3 * worst_frame,
                                                0.25 * latest + openings * 3 * worst_frame}) +
                                          4 * worst_frame);
  };
  static_cast<void>(run_tuner(work, tuner, options));
  EXPECT_GT(tuner.seconds_lost(), 0);
}

TEST_P(TunerTest, NeverAsksForWhatIsNotReadyOrCannotRun) {
  SimulatedWorkload work = workload();
  const auto builds = work.builds();
  Tuner tuner =
      tuner_for(work, {.seed = seed(), .prior = work.prior(seed()), .build = builds, .wanted_builds = 2});
  std::vector<char> runnable;
  for (const int build : builds)
    runnable.push_back(build < 0 ? 1 : 0);
  testing::SimulatedMachine machine({}, seed());
  int ran = -1;
  int answered = 0;
  while (machine.time() < 10) {
    const Trial trial = tuner.ask();
    ASSERT_TRUE(runnable[static_cast<std::size_t>(trial.candidate)]);
    ASSERT_LE(tuner.wanted_builds().size(), 2U);
    const double seconds = machine.run(work.seconds(trial.candidate) * (trial.candidate != ran ? 1.3 : 1));
    tuner.tell({.candidate = trial.candidate,
                .time = machine.time(),
                .seconds = seconds,
                .trusted = trial.candidate == ran});
    ran = trial.candidate;
    if (tuner.wanted_builds().empty() || machine.time() < 0.3 * (answered + 1)) continue;
    const int wanted = tuner.wanted_builds().back();
    const int build = builds[static_cast<std::size_t>(wanted)];
    ASSERT_FALSE(runnable[static_cast<std::size_t>(wanted)]);
    if (++answered % 3 == 0) {
      tuner.cannot_compile(wanted);
      continue;
    }
    tuner.ready(wanted);
    for (std::size_t c = 0; c < builds.size(); ++c)
      runnable[c] = runnable[c] || builds[c] == build;
  }
  EXPECT_GT(answered, 0);
}

// Refused candidates, even the incumbent, are never asked for again, regardless of when they are refused.
// Others of their builds are.
TEST_P(TunerTest, WhatCannotRunIsNeverAskedForAgainAndTakesNobodyOfItsBuildAlong) {
  SimulatedWorkload work = workload();
  const int size = work.space().size();
  const std::vector<int> one_build(static_cast<std::size_t>(size), 0);
  Tuner tuner = tuner_for(work, {.seed = seed(), .prior = work.prior(seed()), .build = one_build});
  tuner.ready(0);
  std::mt19937_64 random(seed());
  std::vector<char> refused(static_cast<std::size_t>(size), 0);
  testing::SimulatedMachine machine({}, seed());
  int ran = -1;
  int rounds = 0;
  int incumbents = 0;
  int tried_after = 0;
  for (int frame = 0; frame < 3000; ++frame) {
    const Trial trial = tuner.ask();
    ASSERT_FALSE(refused[static_cast<std::size_t>(trial.candidate)]);
    if (trial.role == Role::challenger && rounds > 0) ++tried_after;
    if (frame % 100 == 1 && rounds < 8) {
      ++rounds;
      std::vector<int> together{trial.candidate};
      incumbents += trial.candidate == tuner.incumbent() ? 1 : 0;
      for (int c = 0; c < size; ++c)
        if (c != trial.candidate && random() % 16 == 0) together.push_back(c);
      for (const int c : together)
        refused[static_cast<std::size_t>(c)] = 1;
      ASSERT_TRUE(tuner.cannot_run(together));
      ASSERT_EQ(tuner.record().count(EventKind::refused), rounds);
      continue;
    }
    const double seconds = machine.run(work.seconds(trial.candidate) * (trial.candidate != ran ? 1.3 : 1));
    tuner.tell({.candidate = trial.candidate,
                .time = machine.time(),
                .seconds = seconds,
                .trusted = trial.candidate == ran});
    ran = trial.candidate;
  }
  EXPECT_EQ(rounds, 8);
  EXPECT_GT(incumbents, 0);
  EXPECT_GT(tried_after, 0);
  EXPECT_THAT(time_line(tuner, work.space()), ::testing::HasSubstr("the machine refuses to run it"));
}

INSTANTIATE_TEST_SUITE_P(
    Situations, TunerTest,
    ::testing::Combine(
        ::testing::Values(Situation{{.structures = 6, .fusions = 2, .tiles = 2, .in_flight = 1}, 0.001},
                          Situation{middle, 0.0003}, Situation{middle, 0.02},
                          Situation{{.tiles = 5, .threads = 4, .in_flight = 1}, 0.003}),
        ::testing::Values(1, 2, 3)));

struct Medians {
  double loss;
  double settled;
  double final_ratio;
};

template <class Run> Medians over_seeds(int seeds, const Run& run) {
  std::vector<double> loss;
  std::vector<double> settled;
  std::vector<double> final_ratio;
  for (int seed = 1; seed <= seeds; ++seed) {
    const StreamResult result = run(static_cast<std::uint64_t>(seed));
    loss.push_back(result.loss);
    settled.push_back(result.settled);
    final_ratio.push_back(result.final_ratio);
  }
  return {median(loss), median(settled), median(final_ratio)};
}

class TunerRegretTest : public ::testing::TestWithParam<double> {};

TEST_P(TunerRegretTest, LosesLittleSettlesSoonAndBeatsTheObviousAlternatives) {
  MILLRACE_RELEASE_ONLY();
  constexpr int seeds = 7;
  const double frame = GetParam();
  const auto tuned = over_seeds(seeds, [&](std::uint64_t seed) {
    SimulatedWorkload work(middle, frame, seed);
    Tuner tuner = tuner_for(work, {.seed = seed, .prior = work.prior(seed + 100)});
    return run_tuner(work, tuner, {.seconds = 60, .seed = seed});
  });
  EXPECT_LT(tuned.loss, 0.05);
  EXPECT_LT(tuned.settled, 2);
  EXPECT_LT(tuned.final_ratio, 1.03);

  const auto alternative = [&](const auto& make) {
    return over_seeds(seeds,
                      [&](std::uint64_t seed) {
                        SimulatedWorkload work(middle, frame, seed);
                        auto method = make(work.prior(seed + 100), seed);
                        return testing::run_alternative(work, method, {.seconds = 60, .seed = seed});
                      })
        .loss;
  };
  using Prior = std::vector<double>;
  EXPECT_LT(tuned.loss,
            alternative([](const Prior& p, auto seed) { return testing::EpsilonGreedy(p, 0.05, seed); }));
  EXPECT_LT(tuned.loss, alternative([](const Prior& p, auto) { return testing::Ucb1(p); }));
  EXPECT_LT(tuned.loss, alternative([](const Prior& p, auto) { return testing::ExploreOnce(p, 3); }));
}

INSTANTIATE_TEST_SUITE_P(FrameSeconds, TunerRegretTest, ::testing::Values(0.001, 0.003, 0.02));

TEST(Tuner, ComesBackAfterAStepThatNobodyAnnounced) {
  const auto stepped = over_seeds(7, [&](std::uint64_t seed) {
    SimulatedWorkload work(middle, 0.003, seed);
    Tuner tuner = tuner_for(work, {.seed = seed, .prior = work.prior(seed + 100)});
    StreamOptions options{.seconds = 40, .seed = seed, .change_at = 20};
    options.change = [seed](SimulatedWorkload& changed) { changed.redraw(seed + 1000, 0.6); };
    return run_tuner(work, tuner, options);
  });
  EXPECT_LT(stepped.settled, 3);
  EXPECT_LT(stepped.final_ratio, 1.03);
}

TEST(Tuner, ComesBackAfterACoreIsLoaded) {
  const auto stepped = over_seeds(7, [&](std::uint64_t seed) {
    SimulatedWorkload work(middle, 0.003, seed);
    Tuner tuner = tuner_for(work, {.seed = seed, .prior = work.prior(seed + 100)});
    StreamOptions options{.seconds = 40, .seed = seed, .change_at = 20};
    options.change = [](SimulatedWorkload& changed) { changed.load_a_core(0.5); };
    return run_tuner(work, tuner, options);
  });
  EXPECT_LT(stepped.settled, 2);
  EXPECT_LT(stepped.final_ratio, 1.03);
}

// Like a virtual machine whose neighbours come and go: every change suggests that everything may differ, but
// nothing does.
TEST(Tuner, OnAMachineWhoseSpeedComesAndGoesItSoonStopsToLookAgain) {
  const Noise neighbours{.burst_every = 1.5, .burst_seconds = 1, .burst_slowdown = 1.8};
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SimulatedWorkload work(middle, 0.0003, seed);
    Tuner tuner = tuner_for(work, {.seed = seed, .prior = work.prior(seed + 100)});
    const StreamResult result = run_tuner(work, tuner, {.seconds = 30, .noise = neighbours, .seed = seed});
    EXPECT_GE(tuner.record().count(EventKind::drift), 3);
    EXPECT_LT(result.lost_to_trials, 0.035 * 30);
    EXPECT_LT(result.final_ratio, 1.05);
  }
}

TEST(Tuner, FramesOfAnyLengthAreTuned) {
  for (const double frame : {0.2, 1.0}) {
    int better = 0;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      SimulatedWorkload work(middle, frame, seed);
      Tuner tuner = tuner_for(work, {.seed = seed});
      const double guess = work.ratio(tuner.ask().candidate);
      const StreamResult result = run_tuner(work, tuner, {.frames = 3600, .seed = seed});
      EXPECT_GT(tuner.record().count(EventKind::trial), 0) << frame;
      better += result.final_ratio < guess ? 1 : 0;
    }
    EXPECT_GE(better, 4) << frame;
  }
}

TEST(Tuner, SwitchesForNothingOnlySeldom) {
  int false_switches = 0;
  constexpr int streams = 10;
  for (std::uint64_t seed = 1; seed <= streams; ++seed) {
    SimulatedWorkload work(middle, 0.003, seed);
    Tuner tuner = tuner_for(work, {.seed = seed, .prior = work.prior(seed + 100)});
    false_switches +=
        run_tuner(work, tuner, {.seconds = 60, .noise = {.sigma = 0.08}, .seed = seed}).false_switches;
  }
  EXPECT_LE(false_switches, streams);  // one per minute, each by a few percent
}

TEST(Tuner, AShortStreamGainsFromItToo) {
  double with = 0;
  double without = 0;
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    SimulatedWorkload work(middle, 0.001, seed);
    const auto prior = work.prior(seed + 100);
    Tuner tuner = tuner_for(work, {.seed = seed, .prior = prior});
    const double guess = work.ratio(tuner.ask().candidate);
    with += std::log(1 + run_tuner(work, tuner, {.seconds = 0.2, .seed = seed}).loss) / 15;
    without += std::log(guess) / 15;
  }
  EXPECT_LT(with, without + 0.02);
}

TEST(Tuner, AProfileIsUsedFromTheFirstFrame) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SimulatedWorkload work(middle, 0.005, seed);
    Remembered remembered{.incumbent = work.best()};
    for (int c = 0; c < work.space().size(); c += 40)
      remembered.costs.push_back({c, work.ratio(c)});
    Tuner tuner = tuner_for(work, {.seed = seed, .remembered = remembered});
    const StreamResult result = run_tuner(work, tuner, {.seconds = 20, .seed = seed});
    EXPECT_LT(result.settled, 0.5);
    // Bursts of a neighbour raise alarms, and each alarm is granted trials.
    EXPECT_LT(result.loss, 0.09);
    EXPECT_EQ(tuner.record().count(EventKind::profile_forgotten), 0) << time_line(tuner, work.space());
  }
}

TEST(Tuner, AProfileThatIsWrongIsForgotten) {
  int forgotten = 0;
  for (std::uint64_t seed = 1; seed <= 7; ++seed) {
    SimulatedWorkload work(middle, 0.003, seed);
    const SimulatedWorkload other(middle, 0.003, seed + 50);
    Remembered remembered{.incumbent = other.best()};
    for (int c = 0; c < other.space().size(); c += 20)
      remembered.costs.push_back({c, other.ratio(c)});
    Tuner tuner = tuner_for(
        work, {.seed = seed, .prior = work.prior(seed), .remembered = remembered, .record_length = 4000});
    const StreamResult result = run_tuner(work, tuner, {.seconds = 30, .seed = seed});
    forgotten += tuner.record().count(EventKind::profile_forgotten) > 0 ? 1 : 0;
    EXPECT_LT(result.final_ratio, 1.1);
  }
  EXPECT_GE(forgotten, 5);
}

TEST(Tuner, WhatItRemembersIsUsableAsAProfile) {
  SimulatedWorkload work(middle, 0.003, 2);
  Tuner tuner = tuner_for(work, {.prior = work.prior(2)});
  const Noise quiet{.sigma = 0.03, .outlier_share = 0, .drift = 0.01, .burst_every = 1e9};
  static_cast<void>(run_tuner(work, tuner, {.seconds = 10, .noise = quiet}));
  const Remembered remembered = tuner.remember(5);
  EXPECT_EQ(remembered.incumbent, tuner.incumbent());
  ASSERT_LE(remembered.costs.size(), 5U);
  ASSERT_FALSE(remembered.costs.empty());
  for (const RememberedCost& cost : remembered.costs) {
    EXPECT_NEAR(cost.ratio, work.seconds(cost.candidate) / work.seconds(remembered.incumbent),
                0.15 * cost.ratio);
  }
  EXPECT_EQ(tuner_for(work, {.remembered = remembered}).ask().candidate, remembered.incumbent);
}

TEST(Tuner, UnderADeadlineItFindsTheFewestThreadsThatMeetIt) {
  const auto space =
      Space::make({{"threads", {"1", "2", "4", "8"}, true}, {"tile", {"16", "32", "64"}, true}},
                  [](auto) { return true; });
  std::vector<double> threads;
  for (int c = 0; c < space->size(); ++c)
    threads.push_back(1 << space->values(c)[0]);
  testing::SimulatedMachine machine({.drift = 0.02}, 4);
  auto tuner =
      Tuner::make(*space, {.objective = {.aim = Aim::deadline, .deadline = 0.02}, .resources = threads});
  int ran = -1;
  while (machine.time() < 30) {
    const int c = tuner->ask().candidate;
    // 1 thread: 36 ms, late. 2: 18 ms, tight. 4: 9 ms. 8: 4.5 ms.
    const double seconds = machine.run(0.036 / threads[static_cast<std::size_t>(c)]);
    tuner->tell({.candidate = c, .time = machine.time(), .seconds = seconds, .trusted = c == ran});
    ran = c;
  }
  EXPECT_EQ(threads[static_cast<std::size_t>(tuner->incumbent())], 4) << tuner->explain();
}

TEST(Tuner, IgnoresObservationsOfWhatItDidNotAskFor) {
  SimulatedWorkload work(middle, 0.003, 1);
  Tuner tuner = tuner_for(work, {.first = {5}});
  for (int i = 1; i < 1000; ++i)
    tuner.tell({.candidate = 6, .time = 0.01 * i, .seconds = 1e-6});
  EXPECT_EQ(tuner.incumbent(), 5);
  EXPECT_EQ(tuner.record().count(EventKind::trial), 0);
}

TEST(Tuner, ExplainsItself) {
  SimulatedWorkload work(middle, 0.003, 3);
  Tuner tuner = tuner_for(work, {.first = {0}});
  EXPECT_EQ(tuner.explain(), "nothing has run yet");
  static_cast<void>(run_tuner(work, tuner, {.seconds = 5}));
  EXPECT_THAT(tuner.explain(), ::testing::HasSubstr(work.space().name_of(tuner.incumbent())));
  EXPECT_THAT(tuner.explain(), ::testing::HasSubstr("other candidates measured"));
  for (const Event& event : tuner.record().events()) {
    const auto json = to_json(event, work.space(), tuner.start_time());
    EXPECT_EQ(json.at("candidate"), work.space().name_of(event.candidate));
    EXPECT_THAT(describe(event, work.space(), tuner.start_time()),
                ::testing::HasSubstr(std::string(name_of(event.kind))));
  }
}

// Two thousand changes of the incumbent: the best candidate changes as soon as it is found.
TEST(Tuner, StaysWithinItsMemoryOverThousandsOfSwitches) {
  const auto space = Space::make({{"a", {"0", "1", "2"}}, {"b", {"0", "1"}}}, [](auto) { return true; });
  auto tuner = Tuner::make(*space, {.record_length = 64});
  double time = 0;
  int cheap = 1;
  std::int64_t switches = 0;
  for (int i = 0; switches < 2000; ++i) {
    ASSERT_LT(i, 2'000'000) << switches;
    const int c = tuner->ask().candidate;
    time += 0.001;
    tuner->tell({.candidate = c, .time = time, .seconds = c == cheap ? 0.00085 : 0.001});
    if (tuner->incumbent() == cheap) {
      cheap = (cheap + 1) % space->size();
      tuner->context_changed(time);
    }
    switches = tuner->record().count(EventKind::incumbent);
  }
  EXPECT_EQ(tuner->record().events().size(), 64U);
}

}  // namespace
}  // namespace millrace::tuning
