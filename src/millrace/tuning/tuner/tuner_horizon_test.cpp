// Tests streams with a known end.
#include "millrace/tuning/record/decision_report.h"
#include "millrace/tuning/tuner/simulated_stream_testing.h"

#include <array>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::tuning {
namespace {

using testing::run_tuner;
using testing::SimulatedWorkload;
using testing::StreamOptions;
using testing::StreamResult;

constexpr testing::WorkloadSize of_middle_size{.tiles = 4};
constexpr int streams = 6;

// First touch and cold caches: the cost of the first frames after a switch on real machines, in frames.
constexpr double real_cold = 2;

Tuner tuner_over(const SimulatedWorkload& workload, TunerOptions options) {
  auto tuner = Tuner::make(workload.space(), std::move(options));
  EXPECT_TRUE(tuner) << tuner.error().message;
  return std::move(*tuner);
}

// Candidates ordered by a mostly correct prior: the suggestions of a caller who knows the machines.
std::vector<int> suggestions(const SimulatedWorkload& workload, std::uint64_t seed) {
  const auto prior = workload.prior(seed + 100, 0.1);
  std::vector<int> order(prior.size());
  for (std::size_t c = 0; c < order.size(); ++c)
    order[c] = static_cast<int>(c);
  std::ranges::sort(order, {}, [&](int c) { return prior[static_cast<std::size_t>(c)]; });
  return {order[0], order[order.size() / 50], order[order.size() / 10], order[order.size() / 5]};
}

struct KnownRun {
  StreamResult result;
  std::int64_t trials = 0;
  double guess = 1;  // cost of the first guess relative to the best
};

KnownRun run_for(std::int64_t frames, double frame_seconds, std::uint64_t seed,
                 std::optional<Remembered> remembered = std::nullopt) {
  SimulatedWorkload work(of_middle_size, frame_seconds, seed);
  Tuner tuner = tuner_over(work, {.seed = seed,
                                  .first = suggestions(work, seed),
                                  .prior = work.prior(seed + 100, 0.1),
                                  .remembered = std::move(remembered)});
  KnownRun run{.guess = work.ratio(tuner.ask().candidate)};
  run.result = run_tuner(work, tuner, {.frames = frames, .cold = real_cold, .seed = seed});
  run.trials = tuner.record().count(EventKind::trial);
  return run;
}

class KnownEnd : public ::testing::TestWithParam<double> {};  // seconds per frame

TEST_P(KnownEnd, NothingIsTriedWhereNothingIsLeftToGain) {
  for (std::uint64_t seed = 1; seed <= streams; ++seed) {
    for (const std::int64_t frames : {1, 2, 5, 13})
      EXPECT_EQ(run_for(frames, GetParam(), seed).trials, 0) << frames << " frames";
  }
}

TEST_P(KnownEnd, MoreIsTriedWhereMoreIsLeft) {
  std::int64_t before = 0;
  for (const std::int64_t frames : {20, 120, 720, 4320}) {
    std::int64_t trials = 0;
    for (std::uint64_t seed = 1; seed <= streams; ++seed)
      trials += run_for(frames, GetParam(), seed).trials;
    EXPECT_GE(trials, before) << frames << " frames";
    before = trials;
  }
  EXPECT_GT(before, 6 * streams);
}

// Compared with keeping the first guess, whatever the search gains or loses.
TEST_P(KnownEnd, LookingCostsLittleInShortStreamsAndGainsInLongOnes) {
  for (const std::int64_t frames : {60, 360, 1200, 3600}) {
    double mean = 0;
    double worst = 0;
    for (std::uint64_t seed = 1; seed <= streams; ++seed) {
      const KnownRun run = run_for(frames, GetParam(), seed);
      const double staying = run.guess * (1 + real_cold / static_cast<double>(frames));
      const double loss = std::log((1 + run.result.loss) / staying);
      mean += loss / streams;
      worst = std::max(worst, loss);
    }
    EXPECT_LT(mean, 0.02) << frames << " frames";
    EXPECT_LT(worst, 0.06) << frames << " frames";
    if (frames == 3600) {
      EXPECT_LT(mean, -0.01);
    }
  }
}

// As for a file whose frame count is estimated from its size, if its first frames are not typical.
TEST_P(KnownEnd, WhatWasExpectedAtFirstDoesNotMatterInTheEnd) {
  constexpr std::int64_t frames = 3600;
  for (const double expected : {0.05, 100.0}) {
    double mean = 0;
    double mean_of_known = 0;
    for (std::uint64_t seed = 1; seed <= streams; ++seed) {
      SimulatedWorkload work(of_middle_size, GetParam(), seed);
      Tuner tuner = tuner_over(
          work, {.seed = seed, .first = suggestions(work, seed), .prior = work.prior(seed + 100, 0.1)});
      const StreamResult result = run_tuner(
          work, tuner,
          {.frames = frames, .expected = expected, .corrected_at = 100, .cold = real_cold, .seed = seed});
      mean += result.loss / streams;
      mean_of_known += run_for(frames, GetParam(), seed).result.loss / streams;
    }
    EXPECT_LT(mean, mean_of_known + 0.02) << expected;
  }
}

TEST_P(KnownEnd, ALongStreamTriesWhatAnEndlessOneDoes) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    std::set<int> tried[2];
    for (const bool known : {false, true}) {
      SimulatedWorkload work(of_middle_size, GetParam(), seed);
      Tuner tuner = tuner_over(work, {.seed = seed,
                                      .first = suggestions(work, seed),
                                      .prior = work.prior(seed + 100, 0.1),
                                      .record_length = 4000});
      StreamOptions options{.seconds = 10, .cold = real_cold, .seed = seed};
      options.watch = [known](const Observation&, Tuner& watched) {
        if (known) watched.frames_left(10'000'000);
      };
      static_cast<void>(run_tuner(work, tuner, options));
      for (const Event& event : tuner.record().events()) {
        if (event.chosen == Reason::suggested) tried[known ? 1 : 0].insert(event.candidate);
      }
    }
    EXPECT_EQ(tried[0], tried[1]);
    EXPECT_FALSE(tried[0].empty());
  }
}

// A profile that is right about the best candidate and slightly wrong about the others.
Remembered profile_of(const SimulatedWorkload& work) {
  Remembered remembered{.incumbent = work.best()};
  for (int c = 0; c < work.space().size(); c += 40)
    remembered.costs.push_back({c, 1.05 * work.ratio(c)});
  return remembered;
}

TEST_P(KnownEnd, VerifyingAProfileTakesAHundredthOfTheFramesAtMost) {
  std::int64_t verified = 0;
  for (const std::int64_t frames : {60, 360, 3600, 10'000}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      SimulatedWorkload work(of_middle_size, GetParam(), seed);
      Tuner tuner = tuner_over(work, {.seed = seed,
                                      .first = suggestions(work, seed),
                                      .prior = work.prior(seed + 100, 0.1),
                                      .remembered = profile_of(work)});
      EXPECT_EQ(tuner.ask().candidate, work.best());
      const StreamResult result = run_tuner(
          work, tuner,
          {.frames = frames, .cold = real_cold, .noise = {.drift = 0.01, .burst_every = 1e9}, .seed = seed});
      EXPECT_LE(result.to_others, frames / 100) << frames << " frames, seed " << seed;
      verified += tuner.record().count(EventKind::trial);
    }
  }
  EXPECT_GT(verified, 0);
}

// The previous run chose badly because it measured the best candidate at a bad moment. The check of that
// candidate is not cut short while it is ahead.
TEST_P(KnownEnd, AProfileIsLeftForWhatIsFoundToBeBetterWhileItIsVerified) {
  for (std::uint64_t seed = 1; seed <= streams; ++seed) {
    SimulatedWorkload work(of_middle_size, GetParam(), seed);
    Remembered remembered{.incumbent = 0, .costs = {{work.best(), 0.98}}};
    const auto off = [&](int c) { return std::abs(work.ratio(c) - 1.5); };
    for (int c = 0; c < work.space().size(); ++c) {
      if (off(c) < off(remembered.incumbent)) remembered.incumbent = c;
    }
    Tuner tuner = tuner_over(work, {.seed = seed, .remembered = remembered});
    static_cast<void>(run_tuner(
        work, tuner,
        {.frames = 1200, .cold = real_cold, .noise = {.drift = 0.01, .burst_every = 1e9}, .seed = seed}));
    EXPECT_LT(work.ratio(tuner.incumbent()), 1.1) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(FrameSeconds, KnownEnd, ::testing::Values(0.0003, 0.01));

// "plain", preceded by a suggestion that must be compiled for 0.4 seconds.
struct UncompiledSuggestion {
  Space space = *Space::make({{"kernel", {"plain", "fused"}}}, [](auto) { return true; });

  [[nodiscard]] TunerOptions options(std::vector<RememberedCost> costs) const {
    return {.first = {1, 0},
            .prior = {1.35, 1},
            .build = {-1, 0},
            .build_seconds = {0.4},
            .build_slowdown = 0.25,
            .remembered = Remembered{.incumbent = 0, .costs = std::move(costs)}};
  }

  // Whether a stream of this many 1 ms frames requests the compilation, even without any previous run.
  [[nodiscard]] bool wishes(std::int64_t frames, TunerOptions options, double bottleneck_share = 1) const {
    auto tuner = Tuner::make(space, std::move(options));
    EXPECT_TRUE(tuner);
    tuner->bottleneck_share(bottleneck_share);
    bool wished = false;
    for (std::int64_t done = 0; done < frames; ++done) {
      tuner->frames_left(frames - done);
      EXPECT_EQ(tuner->ask().candidate, 0);
      tuner->tell({.candidate = 0, .time = 0.001 * static_cast<double>(done + 1), .seconds = 0.001});
      wished = wished || !tuner->wanted_builds().empty();
    }
    return wished;
  }
};

// No single stream is long enough to pay for the compilation, so without this rule it would never happen.
TEST(KnownEnd, WhatIsSuggestedIsCompiledForTheNextStreamsWhereOneCameBefore) {
  const UncompiledSuggestion stream;
  EXPECT_TRUE(stream.wishes(600, stream.options({})));
  EXPECT_FALSE(stream.wishes(300, stream.options({}))) << "it would not be there before the end";
  EXPECT_FALSE(stream.wishes(600, stream.options({{.candidate = 1, .ratio = 1.2}}))) << "it is known";
  EXPECT_FALSE(stream.wishes(600, stream.options({}), 0)) << "it waits for something else";
  TunerOptions none = stream.options({});
  none.wanted_builds = 0;
  EXPECT_FALSE(stream.wishes(600, none));
  TunerOptions first_stream = stream.options({});
  first_stream.remembered.reset();
  first_stream.build_seconds = {0.5};
  first_stream.build_slowdown = 1;
  EXPECT_FALSE(stream.wishes(600, first_stream)) << "nobody knows that it will come again";
  TunerOptions dear = stream.options({});
  dear.build_slowdown = 1;
  EXPECT_FALSE(stream.wishes(600, dear)) << "two streams more do not pay for it";
}

TEST(KnownEnd, TheNextStreamBeginsWithWhatWasCompiledForIt) {
  const UncompiledSuggestion stream;
  auto tuner = Tuner::make(stream.space, stream.options({}));
  ASSERT_TRUE(tuner);
  tuner->ready(1);
  EXPECT_EQ(tuner->ask().candidate, 1);
}

TEST(KnownEnd, WhyNothingWasTriedIsTold) {
  SimulatedWorkload work(of_middle_size, 0.003, 1);
  Tuner tuner = tuner_over(work, {.first = suggestions(work, 1)});
  static_cast<void>(run_tuner(work, tuner, {.frames = 20, .cold = real_cold}));
  ASSERT_EQ(tuner.record().count(EventKind::declined), 1);
  const Event event = tuner.record().events().back();
  ASSERT_EQ(event.kind, EventKind::declined);
  EXPECT_LE(event.gain, event.loss);
  EXPECT_THAT(describe(event, work.space(), 0),
              ::testing::HasSubstr("17 frames left: a trial costs more than it can gain"));
  EXPECT_EQ(to_json(event, work.space(), 0).at("frames_left"), 17);
}

// For any length, known or not.
TEST(KnownEnd, WhatComputesWhileItWaitsAnywayTriesAndCompilesNothing) {
  for (const std::int64_t frames : {std::int64_t{0}, std::int64_t{10'000}}) {
    SimulatedWorkload work(of_middle_size, 0.003, 1);
    Tuner tuner = tuner_over(work, {.first = suggestions(work, 1), .build = work.builds()});
    tuner.bottleneck_share(0);
    StreamOptions options{.seconds = 5, .frames = frames, .cold = real_cold};
    bool wanted = false;
    options.watch = [&](const Observation&, Tuner& watched) {
      wanted = wanted || !watched.wanted_builds().empty();
    };
    static_cast<void>(run_tuner(work, tuner, options));
    EXPECT_EQ(tuner.record().count(EventKind::trial), 0);
    EXPECT_FALSE(wanted);
    ASSERT_EQ(tuner.record().count(EventKind::declined), 1);
    const Event event = tuner.record().events().back();
    EXPECT_THAT(
        describe(event, work.space(), 0),
        ::testing::HasSubstr(
            "waited mostly for its input or output; at most 0 % of what a trial saves would shorten it"));
    EXPECT_EQ(to_json(event, work.space(), 0).at("frames_left").is_null(), frames == 0);
    EXPECT_THAT(tuner.explain(), ::testing::Not(::testing::HasSubstr("input")))
        << "whoever runs it says that once";
  }
}

TEST(KnownEnd, WhatBeginsToWaitStopsTryingAndBeginsAgainWhereItNoLongerDoes) {
  SimulatedWorkload work(of_middle_size, 0.003, 1);
  Tuner tuner = tuner_over(work, {.first = suggestions(work, 1)});
  std::array<std::int64_t, 3> trials{};
  StreamOptions options{.seconds = 6, .cold = real_cold};
  options.watch = [&](const Observation& observation, Tuner& watched) {
    const auto part = std::min<std::size_t>(2, static_cast<std::size_t>(observation.time / 2));
    watched.bottleneck_share(part == 1 ? 0 : 1);
    trials[part] = watched.record().count(EventKind::trial);
  };
  static_cast<void>(run_tuner(work, tuner, options));
  EXPECT_GT(trials[0], 3);
  EXPECT_LE(trials[1], trials[0] + 1);  // one may be in progress
  EXPECT_GT(trials[2], trials[1]);
}

// A compilation of one second with frames of 3 ms.
TEST(KnownEnd, NothingIsCompiledThatCannotPayOff) {
  for (const bool is_long : {false, true}) {
    SimulatedWorkload work(of_middle_size, 0.003, 2);
    const auto builds = work.builds();
    Tuner tuner = tuner_over(
        work,
        {.prior = work.prior(102, 0.1), .build = builds, .build_seconds = std::vector<double>(200, 1.0)});
    bool wanted = false;
    StreamOptions options{.frames = is_long ? 10'000 : 300, .compile_seconds = 1};
    options.watch = [&](const Observation&, Tuner& watched) {
      wanted = wanted || !watched.wanted_builds().empty();
    };
    static_cast<void>(run_tuner(work, tuner, options));
    EXPECT_EQ(wanted, is_long);
  }
}

// Three candidates that can run at once, and three that share one compilation. One of each is suggested.
Result<Space> fusions() {
  return Space::make({{"fusion", {"none", "fused"}, true}, {"tile", {"a", "b", "c"}, true}},
                     [](auto) { return true; });
}

constexpr int unfused = 1;
constexpr int fused = 4;

TunerOptions one_build(double seconds) {
  return {.first = {unfused, fused, 0},
          .prior = {1.3, 1.25, 1.3, 1.05, 1, 1.05},
          .build = {-1, -1, -1, 0, 0, 0},
          .build_seconds = {seconds}};
}

// For any result of earlier trials, and any time at which the compilation finishes.
TEST(KnownEnd, WhatWasCompiledForAPriceIsTriedAndNothingElseIsMeanwhile) {
  constexpr double frame = 0.004;
  constexpr double expected = 0.2;
  int wished = 0;
  for (const double taken : {0.1, 0.5, 1.5}) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      const auto space = fusions();
      ASSERT_TRUE(space);
      auto tuner = Tuner::make(*space, one_build(expected));
      ASSERT_TRUE(tuner);
      std::mt19937_64 random(seed);
      std::normal_distribution<double> noise(0, 0.05);
      double time = 0;
      std::optional<double> wish;
      std::int64_t trials_before = 0;
      bool tried = false;
      for (std::int64_t left = 600; left > 0; --left) {
        tuner->frames_left(left);
        const Trial trial = tuner->ask();
        if (!wish && !tuner->wanted_builds().empty()) {
          wish = time;
          trials_before = tuner->record().count(EventKind::trial);
        }
        if (wish && !tuner->wanted_builds().empty()) {
          if (time < *wish + std::min(3 * expected, taken)) {
            EXPECT_EQ(tuner->record().count(EventKind::trial), trials_before);
            EXPECT_EQ(trial.role, Role::incumbent);
          }
          if (time >= *wish + taken) tuner->ready(fused);
        }
        tried = tried || trial.candidate >= 3;
        // At first, all candidates except the suggested one cost so much that no budget is left for another
        // trial.
        const double slower = trial.candidate == unfused ? 1 : trial.candidate >= 3 ? 0.8 : 8;
        const double seconds = frame * slower * std::exp(noise(random));
        time += seconds;
        tuner->tell({.candidate = trial.candidate, .time = time, .seconds = seconds});
      }
      wished += wish ? 1 : 0;
      EXPECT_EQ(tried, wish.has_value()) << taken << " s, seed " << seed;
    }
  }
  EXPECT_EQ(wished, 3 * 8);
}

// A candidate that a run could not try because it was not compiled does not stay untried forever.
TEST(KnownEnd, AProfileFromBeforeTheBestGuessWasCompiledDoesNotKeepItOut) {
  const auto space = fusions();
  ASSERT_EQ(space->name_of(fused), "fusion=fused,tile=b");
  const std::vector<double> prior{1.3, 1.3, 1.3, 1, 1, 1};
  const auto first = [&](std::vector<RememberedCost> costs) {
    auto tuner = Tuner::make(*space, {.first = {fused, 1},
                                      .prior = prior,
                                      .remembered = Remembered{.incumbent = 2, .costs = std::move(costs)}});
    return tuner->ask().candidate;
  };
  EXPECT_EQ(first({{1, 1.02}}), fused);
  EXPECT_EQ(first({{1, 1.02}, {fused, 1.02}}), 2);
}

// Of two similar measured candidates, the one with the lower prior was seen to be far worse. That says
// nothing about a candidate that was not compiled then, unless another one of its build was measured.
TEST(KnownEnd, NoiseAmongWhatWasMeasuredDoesNotKeepOutWhatWasNot) {
  const auto space = fusions();
  const int fused_too = 5;
  const auto first = [&](std::vector<RememberedCost> costs) {
    auto tuner = Tuner::make(*space, {.first = {fused, 1},
                                      .prior = {1.38, 1.28, 1.38, 1.1, 1, 1.1},
                                      .build = {-1, -1, -1, 0, 0, 0},
                                      .remembered = Remembered{.incumbent = 2, .costs = std::move(costs)}});
    tuner->ready(fused);
    return tuner->ask().candidate;
  };
  EXPECT_EQ(first({{1, 2.72}}), fused);
  EXPECT_EQ(first({{1, 1.02}}), fused);
  EXPECT_EQ(first({{fused_too, 1.6}}), 2);
}

}  // namespace
}  // namespace millrace::tuning
