#include "millrace/run/batch/batch_policy.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::run {
namespace {

using ::testing::HasSubstr;

constexpr double cif = 352 * 288;
constexpr double hd = 1920 * 1080;

// Demands of a kind of job on a simulated machine.
struct SimulatedKind {
  Bottleneck bound{};
  double cpus = 1;       // CPUs that a job keeps busy alone
  double bandwidth = 0;  // share of the memory bandwidth
  double seconds = 1;    // duration of a job alone
  double frame_pixels = cif;
  int jobs = 1;
};

// Simulates a machine on which jobs slow each other down, driven like a batch.
class SimulatedMachine {
 public:
  SimulatedMachine(int cpus, std::vector<SimulatedKind> kinds) : cpus_(cpus), kinds_(std::move(kinds)) {}

  // Relative speed of a job of kind a next to one of kind b, besides the effects of CPUs and bandwidth.
  std::function<double(int a, int b)> beside = [](int, int) { return 1.0; };
  // The same by the number of jobs.
  std::function<double(int jobs)> crowded = [](int) { return 1.0; };

  // Seconds until all jobs are done.
  double run(BatchPolicy& policy) {
    std::vector<int> left;
    for (const SimulatedKind& kind : kinds_)
      left.push_back(kind.jobs);
    std::vector<Job> running;
    double now = 0;
    double changed = 0;
    for (;;) {
      while (true) {
        const BatchDecision decision = policy.decide(view(running, left, now - changed));
        threads_each = decision.threads_each;
        if (!decision.begin) break;
        --left[static_cast<std::size_t>(*decision.begin)];
        running.push_back({*decision.begin, kinds_[static_cast<std::size_t>(*decision.begin)].seconds});
        most = std::max(most, static_cast<int>(running.size()));
        changed = now;
      }
      if (running.empty()) return now;
      // Until the next event, or the next decision.
      double step = 0.1;
      std::vector<double> speeds;
      for (std::size_t j = 0; j < running.size(); ++j) {
        speeds.push_back(speed(running, j));
        step = std::min(step, running[j].left / speeds[j]);
      }
      now += step;
      for (std::size_t j = 0; j < running.size(); ++j) {
        Job& job = running[j];
        job.left -= step * speeds[j];
        job.slice.seconds += step;
        job.slice.side_by_side += step * static_cast<double>(running.size());
        for (std::size_t other = 0; other < running.size(); ++other)
          if (other != j) job.slice.beside[static_cast<std::size_t>(kind(running[other]).bound)] += step;
      }
      for (std::size_t j = running.size(); j-- > 0;) {
        if (running[j].left > 1e-9 && running[j].slice.seconds < 2) continue;
        tell(policy, running[j]);
        if (running[j].left > 1e-9) continue;
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(j));
        changed = now;
      }
    }
  }

  int most = 0;  // highest number of concurrent jobs
  int threads_each = 0;

 private:
  struct Job {
    int kind = 0;
    double left = 0;
    BatchSlice slice{.side_by_side = 0};  // sums over time until reported
    double told_at = -1;                  // work left at that time
  };

  [[nodiscard]] const SimulatedKind& kind(const Job& job) const {
    return kinds_[static_cast<std::size_t>(job.kind)];
  }

  [[nodiscard]] double speed(const std::vector<Job>& running, std::size_t j) const {
    double cpus = 0;
    double bandwidth = 0;
    double company = crowded(static_cast<int>(running.size()));
    for (std::size_t other = 0; other < running.size(); ++other) {
      cpus += kind(running[other]).cpus;
      bandwidth += kind(running[other]).bandwidth;
      if (other != j) company *= beside(running[j].kind, running[other].kind);
    }
    const double stalled = 1 + (std::max(1.0, bandwidth) - 1) * kind(running[j]).bandwidth;
    return company / std::max(std::max(1.0, cpus / cpus_), stalled);
  }

  [[nodiscard]] BatchView view(const std::vector<Job>& running, const std::vector<int>& left,
                               double unchanged) const {
    BatchView view{.memory_left = 1U << 30, .seconds_unchanged = unchanged};
    double busy = 0;
    for (const Job& job : running) {
      view.running.push_back({kind(job).bound, kind(job).frame_pixels});
      busy += kind(job).cpus;
      view.seconds_left += job.left;
    }
    if (!running.empty()) view.busy = std::min(1.0, busy / cpus_);
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      if (left[k] == 0) continue;
      const double each = kinds_[k].seconds * 1e6;
      view.waiting.push_back({static_cast<int>(k), kinds_[k].bound, left[k], each, each * left[k], 0});
      view.seconds_left += kinds_[k].seconds * left[k];
    }
    return view;
  }

  void tell(BatchPolicy& policy, Job& job) const {
    const double before = job.told_at < 0 ? kind(job).seconds : job.told_at;
    BatchSlice slice = job.slice;
    slice.kind = job.kind;
    slice.bound = kind(job).bound;
    slice.pixels = (before - std::max(0.0, job.left)) * 1e6;
    slice.side_by_side /= slice.seconds;
    for (double& share : slice.beside)
      share /= slice.seconds;
    policy.observe(slice);
    job.told_at = job.left;
    job.slice = {.side_by_side = 0};
  }

  double cpus_;
  std::vector<SimulatedKind> kinds_;
};

constexpr SimulatedKind computing{.bound = Bottleneck::processing, .bandwidth = 0.1};
constexpr SimulatedKind hungry{.bound = Bottleneck::output, .bandwidth = 0.9};

SimulatedKind many(SimulatedKind kind, int jobs) {
  kind.jobs = jobs;
  return kind;
}

TEST(BatchPolicy, RunsAComputeBoundJobBesideAMemoryBoundOne) {
  // Two jobs of the hungry kind together take 1.72 s, one of each kind 1 s.
  SimulatedMachine machine(2, {many(computing, 10), many(hungry, 10)});
  BatchPolicy policy(2, std::nullopt);
  EXPECT_LT(machine.run(policy), 1.1 * 10);
  SimulatedMachine alone(2, {many(hungry, 10)});
  SimulatedMachine others(2, {many(computing, 10)});
  BatchPolicy first(2, std::nullopt);
  BatchPolicy second(2, std::nullopt);
  EXPECT_GT(alone.run(first) + others.run(second), 1.25 * 10);
}

TEST(BatchPolicy, LearnsThatJobsOfOneKindGoBetterTogether) {
  SimulatedMachine machine(2, {many(computing, 40), many({.bound = Bottleneck::output}, 40)});
  machine.beside = [](int a, int b) { return a == b ? 1.0 : 0.6; };
  BatchPolicy policy(2, std::nullopt);
  // 40 s at best, 67 s if kinds are always mixed.
  EXPECT_LT(machine.run(policy), 48);
  EXPECT_GT(policy.speed_beside(Bottleneck::output, Bottleneck::output),
            policy.speed_beside(Bottleneck::output, Bottleneck::processing));
}

TEST(BatchPolicy, AddsJobsWhileCpusAreIdle) {
  SimulatedMachine machine(4, {many({.bound = Bottleneck::output, .cpus = 0.5}, 60)});
  BatchPolicy policy(4, std::nullopt);
  const double seconds = machine.run(policy);
  EXPECT_GT(machine.most, 4);
  EXPECT_LT(seconds, 60.0 / 4 * 0.8);
  EXPECT_GE(seconds, 60.0 * 0.5 / 4);
}

TEST(BatchPolicy, AddsNoneWhereAllCpusAreBusy) {
  SimulatedMachine machine(4, {many(computing, 40)});
  BatchPolicy policy(4, std::nullopt);
  machine.run(policy);
  EXPECT_EQ(machine.most, 4);
}

TEST(BatchPolicy, TakesAJobBackThatMadeAllSlower) {
  SimulatedMachine machine(2, {many({.bound = Bottleneck::output, .cpus = 0.6}, 80)});
  machine.crowded = [](int jobs) { return jobs > 2 ? 0.5 : 1.0; };
  BatchPolicy policy(2, std::nullopt);
  const double seconds = machine.run(policy);
  EXPECT_EQ(machine.most, 3);  // tried because CPUs were idle
  EXPECT_LT(seconds, 44);      // 40 without the trial
}

TEST(BatchPolicy, GivesShortClipsAThreadEachAndLargeFramesMore) {
  SimulatedMachine small(64, {many({.bound = Bottleneck::output, .seconds = 0.1, .frame_pixels = cif}, 500)});
  BatchPolicy of_small(64, std::nullopt);
  std::ignore = small.run(of_small);
  EXPECT_EQ(small.most, 64);
  SimulatedMachine large(64, {many({.bound = Bottleneck::output, .cpus = 4, .frame_pixels = hd}, 100)});
  BatchPolicy of_large(64, std::nullopt);
  BatchDecision decision = of_large.decide(
      {.running = {{Bottleneck::output, hd}}, .waiting = {{0, Bottleneck::output, 99, 1, 99, 0}}});
  EXPECT_EQ(decision.side_by_side, 16);
  EXPECT_EQ(decision.threads_each, 4);
  EXPECT_THAT(decision.why, HasSubstr("16 side by side for frames of 2.1 million pixels"));
}

TEST(BatchPolicy, AlwaysHasTwoToOverlapWhereThereAreTwoThreads) {
  for (const double pixels : {0.0, cif, hd, 16 * hd}) {
    for (const int threads : {1, 2, 3, 8}) {
      BatchPolicy policy(threads, std::nullopt);
      const BatchDecision decision = policy.decide(
          {.running = {{Bottleneck::output, pixels}}, .waiting = {{0, Bottleneck::output, 9, 1, 9, 0}}});
      EXPECT_GE(decision.side_by_side, std::min(2, threads));
      EXPECT_LE(decision.side_by_side, threads);
      EXPECT_GE(decision.threads_each * decision.side_by_side, threads);
    }
  }
}

TEST(BatchPolicy, GivesNoThreadsToJobsThatWaitForMemory) {
  BatchPolicy policy(8, 2);
  const RunningJob reads{Bottleneck::output, cif};
  const RunningJob waits{Bottleneck::output, 0};
  const WaitingKind waiting{0, Bottleneck::output, 100, 1, 100, 0};
  EXPECT_EQ(policy.decide({.running = {reads, reads}, .waiting = {waiting}}).threads_each, 4);
  const BatchDecision decision = policy.decide({.running = {reads, waits}, .waiting = {waiting}});
  EXPECT_EQ(decision.threads_each, 8);
  EXPECT_EQ(decision.decoder_threads, 4) << "what is opened now will have company";
  EXPECT_EQ(policy.decide({.running = {waits, waits}, .waiting = {waiting}}).threads_each, 8);
}

// For example with different parameters in every job. Formerly the observations of each kind were searched
// for every kind: with so many, this would take longer than any test may.
TEST(BatchPolicy, TakesNoTimeToDecideAmongManyKinds) {
  constexpr int kinds = 200'000;
  BatchPolicy policy(4, std::nullopt);
  BatchView view{.running = {{Bottleneck::output, cif}}, .memory_left = 1U << 30};
  for (int kind = 0; kind < kinds; ++kind) {
    policy.observe(
        {.kind = kind, .bound = Bottleneck::output, .frame_pixels = cif, .pixels = 1e6, .seconds = 1});
    view.waiting.push_back({kind, Bottleneck::output, 1, kind == 77 ? 2.0 : 1.0, 1, 0});
  }
  EXPECT_EQ(policy.decide(view).begin, 77);
}

TEST(BatchPolicy, LetsTheLastJobsHaveAllThreads) {
  BatchPolicy policy(8, std::nullopt);
  const RunningJob job{Bottleneck::output, cif};
  const WaitingKind waiting{0, Bottleneck::output, 100, 1, 100, 0};
  EXPECT_EQ(policy.decide({.running = {8, job}, .waiting = {waiting}}).threads_each, 1);
  EXPECT_EQ(policy.decide({.running = {8, job}}).threads_each, 1);
  EXPECT_EQ(policy.decide({.running = {3, job}}).threads_each, 3);
  EXPECT_EQ(policy.decide({.running = {job}}).threads_each, 8);
  EXPECT_EQ(policy.decide({}).begin, std::nullopt);
}

TEST(BatchPolicy, BeginsTheLongestWhereItWouldEndLast) {
  SimulatedMachine machine(
      2, {many({.bound = Bottleneck::output}, 10), {.bound = Bottleneck::output, .seconds = 10}});
  BatchPolicy policy(2, std::nullopt);
  EXPECT_LT(machine.run(policy), 10.5);
}

TEST(BatchPolicy, BeginsNothingThatHasNoRoomInMemoryUnlessItIsAlone) {
  BatchPolicy policy(4, std::nullopt);
  const RunningJob job{Bottleneck::output, hd};
  const WaitingKind large{0, Bottleneck::output, 3, 5, 15, 1000};
  const WaitingKind small{1, Bottleneck::output, 3, 1, 3, 100};
  EXPECT_EQ(policy.decide({.running = {job}, .waiting = {large}, .memory_left = 999}).begin, std::nullopt);
  EXPECT_EQ(policy.decide({.running = {job}, .waiting = {large}, .memory_left = 1000}).begin, 0);
  EXPECT_EQ(policy.decide({.running = {job}, .waiting = {large, small}, .memory_left = 999}).begin, 1);
  EXPECT_EQ(policy.decide({.waiting = {large}, .memory_left = 0}).begin, 0);
}

TEST(BatchPolicy, KeepsToANumberThatIsGiven) {
  for (const int given : {1, 3, 100}) {
    SimulatedMachine machine(2, {many({.bound = Bottleneck::output, .cpus = 0.1}, 10)});
    BatchPolicy policy(2, given);
    std::ignore = machine.run(policy);
    EXPECT_EQ(machine.most, std::min(given, 10));
  }
}

TEST(BatchPolicy, IsNotLedAstrayByWhatCannotBe) {
  BatchPolicy policy(2, std::nullopt);
  for (const double wrong : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    policy.observe({.pixels = wrong, .seconds = 1});
    policy.observe({.pixels = 1, .seconds = wrong});
    policy.observe({.pixels = 1, .seconds = 1, .side_by_side = wrong});
  }
  EXPECT_EQ(policy.speed_of(1), 0);
  EXPECT_THAT(policy.explain(), ::testing::IsEmpty());
}

TEST(BatchPolicy, ExplainsWhatItHasLearnt) {
  SimulatedMachine machine(2, {many(computing, 10), many(hungry, 10)});
  BatchPolicy policy(2, std::nullopt);
  std::ignore = machine.run(policy);
  EXPECT_THAT(policy.explain(), ::testing::Contains(HasSubstr("2 side by side: relative speed ")));
  EXPECT_THAT(policy.explain(), ::testing::Contains(HasSubstr("bound by encoding, beside filters")));
}

}  // namespace
}  // namespace millrace::run
