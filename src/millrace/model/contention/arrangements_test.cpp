#include "millrace/base/testing/release_only_testing.h"
#include "millrace/model/contention/arrangements.h"
#include "millrace/model/contention/contention_testing.h"
#include "millrace/model/contention/matching.h"
#include "millrace/model/contention/rule_comparison.h"
#include "millrace/model/contention/topology_machine.h"
#include "millrace/model/contention/workover_figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::model {
namespace {

SharedMachine bulldozer_like() { return {.pus = 8, .levels = {level_of("module", 8, 2, smt_siblings())}}; }

SharedMachine two_nodes() {
  SharedMachine machine{.pus = 16, .levels = {level_of("core", 16, 2, smt_siblings())}};
  machine.levels.push_back(level_of("cache", 16, 8, last_level_cache()));
  return machine;
}

double score(const SharedMachine& machine, const std::vector<ContendingThread>& threads,
             const PuOfThread& placement) {
  return worth_of(machine, threads, placement).log_throughput;
}

// Every thread is placed, and no two share a PU while another is idle.
void expect_spread(const SharedMachine& machine, const PuOfThread& placement) {
  std::vector<int> count(static_cast<std::size_t>(machine.pus));
  for (const int pu : placement) {
    ASSERT_GE(pu, 0);
    ASSERT_LT(pu, machine.pus);
    ++count[static_cast<std::size_t>(pu)];
  }
  const auto [least, most] = std::ranges::minmax(count);
  EXPECT_LE(most - least, 1) << testing::PrintToString(placement);
}

class Arrangements : public testing::TestWithParam<std::uint64_t> {
 protected:
  std::vector<ContendingThread> threads(std::size_t most) {
    std::vector<ContendingThread> all(1 + random_.below(most));
    std::ranges::generate(all, [this] { return random_thread(random_); });
    return all;
  }
  Random random_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Seeds, Arrangements, testing::Range<std::uint64_t>(1, 41));

TEST_P(Arrangements, PlaceEverybodyAndLeaveNoPuIdleBesideTwoOnOne) {
  const auto all = threads(24);
  for (const SharedMachine& machine : {bulldozer_like(), two_nodes()}) {
    expect_spread(machine, shuffled(machine, all, random_));
    expect_spread(machine, pinned(machine, all, random_));
    expect_spread(machine, stacked(machine, all));
    expect_spread(machine, arranged(machine, all));
    if (all.size() <= static_cast<std::size_t>(machine.pus))
      expect_spread(machine, by_workover(machine, all, random_));
  }
}

TEST_P(Arrangements, OfOursAreNearlyTheBestOfAll) {
  const auto all = threads(8);
  const SharedMachine machine = bulldozer_like();
  const auto best = best_of_all(machine, all);
  ASSERT_TRUE(best);
  // The geometric mean of the speeds relative to the best placement.
  const double share = std::exp((score(machine, all, arranged(machine, all)) - score(machine, all, *best)) /
                                static_cast<double>(all.size()));
  EXPECT_GE(share, 0.97);
  EXPECT_LE(share, 1 + 1e-9);
}

TEST_P(Arrangements, OfOursAreAtLeastAsGoodAsTheOthers) {
  const auto all = threads(16);
  const SharedMachine machine = two_nodes();
  const double ours = score(machine, all, arranged(machine, all));
  EXPECT_GE(ours, score(machine, all, stacked(machine, all)) - 1e-9);
  EXPECT_GE(ours, score(machine, all, by_workover(machine, all, random_)) - 1e-9);
  EXPECT_GE(ours, score(machine, all, shuffled(machine, all, random_)) - 1e-9);
}

TEST_P(Arrangements, OfOursBeginWhereThreadsAreAndStayWhereNothingIsGained) {
  const auto all = threads(16);
  const SharedMachine machine = two_nodes();
  const PuOfThread before = shuffled(machine, all, random_);
  const PuOfThread after = arranged(machine, all, before);
  EXPECT_GE(score(machine, all, after), score(machine, all, before) - 1e-12);
  EXPECT_EQ(arranged(machine, all, after), after);
}

TEST(Arrangement, OfUnlikeKindsPutsThemTogether) {
  std::vector<ContendingThread> threads(4, thread_of(SharedUnit::integer));
  threads.insert(threads.end(), 4, thread_of(SharedUnit::fp));
  const SharedMachine machine = bulldozer_like();
  for (const double slowdown : slowdowns_of(machine, threads, arranged(machine, threads)))
    EXPECT_DOUBLE_EQ(slowdown, 1);
}

TEST(Arrangement, StackedPutsLikeBesideLike) {
  std::vector<ContendingThread> threads;
  for (int i = 0; i < 8; ++i)
    threads.push_back(thread_of(i % 2 == 0 ? SharedUnit::integer : SharedUnit::fp));
  const auto slowdowns = slowdowns_of(bulldozer_like(), threads, stacked(bulldozer_like(), threads));
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_DOUBLE_EQ(slowdowns[i], i % 2 == 0 ? 1.4 : 1.9);
}

// The paper's figure 1: four floating-point threads among eight, on modules of two PUs.
TEST(Arrangement, ByWorkoverGivesEachModuleOneOfThoseThatUseFloatingPointMost) {
  std::vector<ContendingThread> threads(4, thread_of(SharedUnit::integer));
  threads.insert(threads.end(), 4, thread_of(SharedUnit::fp));
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    Random random(seed);
    const PuOfThread placement = by_workover(bulldozer_like(), threads, random);
    std::set<int> modules;
    for (std::size_t i = 4; i < 8; ++i) {
      EXPECT_EQ(placement[i] % 2, 0);
      modules.insert(placement[i] / 2);
    }
    EXPECT_EQ(modules.size(), 4);
  }
}

// The rule ranks threads for two of each core's four PUs. The other PUs are filled at random.
TEST(Arrangement, ByWorkoverLeavesToTheKernelWhatIsBehindTheSecondPus) {
  const SharedMachine machine{.pus = 16, .levels = {level_of("core", 16, 4, smt_siblings())}};
  std::vector<ContendingThread> threads(8, thread_of(SharedUnit::fp));
  threads.insert(threads.end(), 8, thread_of(SharedUnit::integer));
  std::set<PuOfThread> seen;
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    Random random(seed);
    const PuOfThread placement = by_workover(machine, threads, random);
    for (std::size_t i = 0; i < 16; ++i)
      EXPECT_EQ(placement[i] % 4 < 2, i < 8) << i;
    expect_spread(machine, placement);
    seen.insert(placement);
  }
  EXPECT_GT(seen.size(), 10);
}

// Machines of the papers and of today, from the traits of their families.
struct NamedMachine {
  const char* name;
  const char* family;
  const char* description;
};

constexpr NamedMachine named_machines[] = {
    {"bulldozer", "amd-bulldozer", "pack:1 l3:1 l2:4 l1i:1 core:2 l1d:1 pu:1"},
    {"power7_smt2", "power7", "pack:1 l3:1 core:8 l2:1 l1d:1 pu:2"},
    {"power7_smt4", "power7", "pack:1 l3:1 core:8 l2:1 l1d:1 pu:4"},
    {"server_of_two_nodes", "amd-smt", "pack:2 [numa] l3:1 core:4 l2:1 l1d:1 pu:2"},
    {"a510_pairs", "cortex-a510", "pack:1 l3:1 l2:4 core:2 l1d:1 pu:1"}};

SharedMachine made(const NamedMachine& named) {
  const auto topology =
      machine::Topology::from_synthetic({.description = named.description, .family = named.family});
  return machine_of(topology.value(), topology->cpus()).machine;
}

class NamedMachines : public testing::TestWithParam<NamedMachine> {
 protected:
  // A mix as in real programs: several kinds of threads with several of each, some with memory on one node,
  // some with shared data.
  std::vector<ContendingThread> mix(const SharedMachine& machine, std::size_t most) {
    std::vector<ContendingThread> threads;
    const std::size_t count = 2 + random_.below(most - 1);
    while (threads.size() < count) {
      ContendingThread thread = random_thread(random_);
      if (machine.nodes.size() > 1 && random_.uniform() < 0.5) {
        thread.pages.assign(machine.nodes.size(), 0);
        thread.pages[random_.below(machine.nodes.size())] = 1;
      }
      if (random_.uniform() < 0.3) {
        thread.data = static_cast<int>(random_.below(3));
        thread.overlap = random_.uniform();
      }
      const std::size_t alike = 1 + random_.below(4);
      for (std::size_t i = 0; i < alike && threads.size() < count; ++i)
        threads.push_back(thread);
    }
    return threads;
  }
  Random random_{7};
};

INSTANTIATE_TEST_SUITE_P(All, NamedMachines, testing::ValuesIn(named_machines),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(NamedMachines, HaveLevelsOfTheirFamily) {
  const SharedMachine machine = made(GetParam());
  ASSERT_FALSE(machine.levels.empty());
  EXPECT_TRUE(check(machine));
  EXPECT_GT(machine.levels.front().contention.of(SharedUnit::fp, SharedUnit::fp), 1.3);
}

TEST_P(NamedMachines, UnitsIsAtLeastAsGoodAsWorkoverOn200Mixes) {
  const SharedMachine machine = made(GetParam());
  for (int mix_number = 0; mix_number < 200; ++mix_number) {
    const auto threads = mix(machine, static_cast<std::size_t>(machine.pus));
    const double ours = score(machine, threads, arranged(machine, threads));
    for (int draw = 0; draw < 3; ++draw)
      EXPECT_GE(ours, score(machine, threads, by_workover(machine, threads, random_)) - 1e-9) << mix_number;
  }
}

TEST_P(NamedMachines, UnitsReaches97PercentOfBruteForceUpToEightThreads) {
  const SharedMachine machine = made(GetParam());
  for (int mix_number = 0; mix_number < 40; ++mix_number) {
    const auto threads = mix(machine, mix_number % 4 == 0 ? 8 : 6);
    const auto best = best_of_all(machine, threads);
    if (!best) {
      // Only machines with distinct nodes have too many placements.
      EXPECT_GT(machine.nodes.size(), 1);
      EXPECT_GT(threads.size(), 5);
      continue;
    }
    double busy = 0;
    for (const ContendingThread& thread : threads)
      busy += thread.busy;
    const double share = std::exp(
        (score(machine, threads, arranged(machine, threads)) - score(machine, threads, *best)) / busy);
    EXPECT_GE(share, 0.97) << mix_number;
    EXPECT_LE(share, 1 + 1e-9) << mix_number;
  }
}

// Tries every placement, without skipping equivalent ones.
double best_score_of_all(const SharedMachine& machine, const std::vector<ContendingThread>& threads) {
  PlacementScore score(machine, threads);
  PuOfThread placement(threads.size(), -1);
  double best = -1e9;
  const auto place = [&](const auto& self, std::size_t thread) -> void {
    if (thread == threads.size()) {
      best = std::max(best, score(placement));
      return;
    }
    for (int pu = 0; pu < machine.pus; ++pu) {
      if (std::find(placement.begin(), placement.begin() + static_cast<std::ptrdiff_t>(thread), pu) !=
          placement.begin() + static_cast<std::ptrdiff_t>(thread))
        continue;
      placement[thread] = pu;
      self(self, thread + 1);
    }
    placement[thread] = -1;
  };
  place(place, 0);
  return best;
}

TEST_P(NamedMachines, LeaveOutNothingThatIsBetter) {
  const SharedMachine machine = made(GetParam());
  for (int mix_number = 0; mix_number < 10; ++mix_number) {
    const auto threads = mix(machine, 3);
    const auto best = best_of_all(machine, threads);
    ASSERT_TRUE(best);
    EXPECT_NEAR(score(machine, threads, *best), best_score_of_all(machine, threads), 1e-9);
  }
}

TEST(CheapestPairs, AreThoseOfAllWaysToPair) {
  Random random(3);
  for (int round = 0; round < 20; ++round) {
    constexpr std::size_t count = 6;
    std::array<std::array<double, count>, count> cost{};
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = i + 1; j < count; ++j)
        cost[i][j] = cost[j][i] = random.uniform();
    std::array<std::size_t, count> order{};
    std::iota(order.begin(), order.end(), 0);
    double least = 1e9;
    do
      least = std::min(least, cost[order[0]][order[1]] + cost[order[2]][order[3]] + cost[order[4]][order[5]]);
    while (std::next_permutation(order.begin(), order.end()));
    double sum = 0;
    std::set<std::size_t> seen;
    for (const auto& [first, second] : cheapest_pairs(count, [&](auto i, auto j) { return cost[i][j]; })) {
      sum += cost[first][second];
      seen.insert({first, second});
    }
    EXPECT_EQ(seen.size(), count);
    EXPECT_NEAR(sum, least, 1e-5);
  }
  EXPECT_TRUE(cheapest_pairs(0, [](auto, auto) { return 0.0; }).empty());
}

TEST(RuleComparison, HasTheBestOfAllWhereItCanBeHadAndNoRuleIsBetter) {
  const std::vector<ContendingThread> threads(6, thread_of(SharedUnit::l2));
  const auto outcomes = compare_rules(bulldozer_like(), threads, {.draws = 50});
  ASSERT_TRUE(outcomes);
  ASSERT_EQ(outcomes->size(), 6);
  EXPECT_EQ(outcomes->back().rule, "best of all");
  for (const RuleOutcome& outcome : *outcomes) {
    EXPECT_LE(outcome.geometric_mean_speed, outcomes->back().geometric_mean_speed + 1e-9);
    EXPECT_EQ(outcome.speeds.size(), 6);
  }
  EXPECT_EQ(compare_rules(two_nodes(), std::vector(16, thread_of(SharedUnit::fp)), {.draws = 2})->size(), 5);
  EXPECT_FALSE(compare_rules(bulldozer_like(), threads, {.draws = 0}));
  EXPECT_FALSE(compare_rules(bulldozer_like(), {}));
}

TEST(WorkoverFigures, ThatThePaperMeasuredArePredicted) {
  MILLRACE_RELEASE_ONLY();
  for (const WorkoverFigure& figure : workover_figures()) {
    if (figure.paper.workover_over_bad) {
      EXPECT_NEAR(*figure.predicted.workover_over_bad / *figure.paper.workover_over_bad, 1, 0.01)
          << figure.name;
      EXPECT_NEAR(figure.predicted.workover_over_kernel / figure.paper.workover_over_kernel, 1, 0.05)
          << figure.name;
    }
    if (figure.paper.kernel_over_bad) {
      EXPECT_NEAR(*figure.predicted.kernel_over_bad / *figure.paper.kernel_over_bad, 1, 0.05) << figure.name;
    }
    EXPECT_GE(figure.predicted.workover_over_kernel, 0.999) << figure.name;
    EXPECT_NEAR(figure.pin_only_over_kernel, 1, 0.01) << figure.name << ": binding alone brings nothing";
    EXPECT_GE(figure.units_over_kernel, figure.predicted.workover_over_kernel - 0.005) << figure.name;
  }
}

TEST(WorkoverFigures, AreTheSameFromTheSameSeed) {
  MILLRACE_RELEASE_ONLY();
  EXPECT_EQ(to_text(workover_figures(3)), to_text(workover_figures(3)));
}

}  // namespace
}  // namespace millrace::model
