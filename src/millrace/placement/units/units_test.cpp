#include "millrace/machine/topology/test_machines.h"
#include "millrace/model/contention/arrangements.h"
#include "millrace/placement/units/units_rule.h"
#include "millrace/placement/units/workover_rule.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

using machine::CpuSet;
using machine::SharedUnit;
using machine::Topology;
using testing::Each;
using testing::HasSubstr;

UnitThread thread_of(std::int64_t id, SharedUnit unit, int cpu = -1) {
  UnitThread thread{.id = id, .demand = {}, .samples = 1000, .cpu = cpu, .allowed = {}};
  thread.demand[unit] = 1;
  return thread;
}

// `fp` floating-point threads, then `integers` integer threads.
std::vector<UnitThread> mixed(int fp, int integers) {
  std::vector<UnitThread> threads;
  for (int i = 0; i < fp + integers; ++i)
    threads.push_back(thread_of(i, i < fp ? SharedUnit::fp : SharedUnit::integer));
  return threads;
}

Topology topology_of(const char* description, const char* family) {
  return Topology::from_synthetic({.description = description, .family = family}).value();
}

Topology power7_smt2() { return topology_of("pack:1 l3:1 core:8 l2:1 l1d:1 pu:2", "power7"); }
Topology a510() { return topology_of("pack:1 l3:1 l2:4 core:2 l1d:1 pu:1", "cortex-a510"); }

struct UnitMachine {
  const char* name;
  Topology (*make)();
};

constexpr UnitMachine unit_machines[] = {{"bulldozer", machine::bulldozer},
                                         {"power7_smt2", power7_smt2},
                                         {"power7_smt4", machine::power7},
                                         {"two_sockets", machine::two_sockets_smt},
                                         {"a510", a510}};

class OnUnitMachines : public testing::TestWithParam<UnitMachine> {
 protected:
  const Topology topology_ = GetParam().make();
  const int groups_ = static_cast<int>(topology_.fpu_groups().size());
  const CpuSet& group_of(const CpuSet& mask) const { return topology_.fpu_group_of(mask.lowest()); }
};

INSTANTIATE_TEST_SUITE_P(All, OnUnitMachines, testing::ValuesIn(unit_machines),
                         [](const auto& test) { return std::string(test.param.name); });

// The paper's figures 1 and 2, and the seats of section 5.3.
TEST_P(OnUnitMachines, WorkoverGivesTheFirstPusOfDistinctGroupsToThoseThatUseFloatingPointMost) {
  auto threads = mixed(groups_, groups_);
  // They ran where the kernel had put them, all on as few groups as possible.
  const std::vector<int> cpus = topology_.cpus().to_vector();
  for (std::size_t i = 0; i < threads.size(); ++i)
    threads[i].cpu = cpus[i];
  const auto ground = workover_ground(topology_, topology_.cpus());
  const auto step = by_workover({}, ground, threads);
  std::set<int> groups;
  std::set<int> taken;
  // With several caches, each has the threads of either kind that run there.
  for (std::size_t i = 0; i < threads.size(); ++i) {
    ASSERT_EQ(step.masks[i].count(), 1);
    taken.insert(step.masks[i].lowest());
    if (i < static_cast<std::size_t>(groups_) && ground.size() == 1) {
      EXPECT_EQ(step.masks[i].lowest(), group_of(step.masks[i]).lowest());
      groups.insert(group_of(step.masks[i]).lowest());
    }
  }
  EXPECT_EQ(taken.size(), threads.size());
  if (ground.size() == 1) {
    EXPECT_EQ(groups.size(), static_cast<std::size_t>(groups_));
  }
}

TEST_P(OnUnitMachines, WorkoverBindsTwoToAGroupAtMostAndLeavesTheRestFree) {
  const int pus = topology_.cpus().count();
  const auto threads = mixed(pus, pus);
  const auto step = by_workover({}, workover_ground(topology_, topology_.cpus()), threads);
  EXPECT_EQ(std::ranges::count_if(step.masks, [](const CpuSet& mask) { return !mask.empty(); }), 2 * groups_);
}

TEST_P(OnUnitMachines, WorkoverMovesNobodyWhileNothingChanges) {
  const auto threads = mixed(groups_, groups_);
  const auto ground = workover_ground(topology_, topology_.cpus());
  auto step = by_workover({}, ground, threads);
  const auto first = step.masks;
  for (int second = 0; second < 5; ++second) {
    step = by_workover(step.state, ground, threads);
    EXPECT_EQ(step.masks, first);
  }
}

// Whatever threads do from second to second, masks stay on the ground, with at most one thread per PU.
TEST_P(OnUnitMachines, WorkoverNeverPutsTwoOnOnePu) {
  model::Random random(5);
  const auto ground = workover_ground(topology_, topology_.cpus());
  WorkoverStep step;
  for (int second = 0; second < 50; ++second) {
    std::vector<UnitThread> threads;
    for (int id = 0; id < 40; ++id) {
      if (random.uniform() < 0.3) continue;
      UnitThread thread = thread_of(id, SharedUnit::integer, static_cast<int>(random.below(40)));
      thread.demand[SharedUnit::fp] = random.uniform();
      thread.demand[SharedUnit::integer] = 1 - thread.demand[SharedUnit::fp];
      thread.busy = random.uniform();
      threads.push_back(std::move(thread));
    }
    step = by_workover(step.state, ground, threads);
    CpuSet taken;
    for (const CpuSet& mask : step.masks) {
      EXPECT_LE(mask.count(), 1);
      EXPECT_FALSE(taken.intersects(mask));
      EXPECT_TRUE(topology_.cpus().contains_all(mask));
      taken |= mask;
    }
    EXPECT_LE(step.state.size(), 40);
  }
}

TEST(WorkoverRule, KeepsOnItsGroupWhoChangesBetweenFirstAndSecondAfterMoreThanAStep) {
  const Topology topology = machine::bulldozer();
  const auto ground = workover_ground(topology, topology.cpus());
  auto threads = mixed(4, 4);
  auto step = by_workover({}, ground, threads);
  step = by_workover(step.state, ground, threads);
  const CpuSet& module = topology.fpu_group_of(step.masks[0].lowest());
  // Thread 0 and the integer thread on its module swap roles.
  std::size_t partner = 4;
  while (!module.contains(step.masks[partner].lowest()))
    ++partner;
  std::swap(threads[0].demand, threads[partner].demand);
  step = by_workover(step.state, ground, threads);
  EXPECT_TRUE(module.contains_all(step.masks[0]));
  EXPECT_TRUE(module.contains_all(step.masks[partner]));
  EXPECT_NE(step.masks[0], step.masks[partner]);
}

TEST(WorkoverRule, GivesWhoComesBackThePuThatItHadMost) {
  const Topology topology = machine::bulldozer();
  const auto ground = workover_ground(topology, topology.cpus());
  const auto threads = mixed(4, 0);
  auto step = by_workover({}, ground, threads);
  step = by_workover(step.state, ground, threads);
  const auto before = step.masks;
  // All sleep except the third, which stays; then all return.
  auto sleeping = threads;
  for (std::size_t i = 0; i < sleeping.size(); ++i)
    if (i != 2) sleeping[i].busy = 0;
  step = by_workover(step.state, ground, sleeping);
  EXPECT_TRUE(step.masks[0].empty());
  EXPECT_EQ(step.masks[2], before[2]);
  auto backwards = threads;
  std::ranges::reverse(backwards);
  step = by_workover(step.state, ground, backwards);
  for (std::size_t i = 0; i < threads.size(); ++i)
    EXPECT_EQ(step.masks[i], before[threads.size() - 1 - i]);
}

TEST(WorkoverRule, TouchesNothingWhereNobodyUsesFloatingPoint) {
  const Topology topology = machine::bulldozer();
  const auto step = by_workover({}, workover_ground(topology, topology.cpus()), mixed(0, 6));
  EXPECT_THAT(step.masks, Each(CpuSet()));
}

TEST(WorkoverRule, LeavesThreadsAloneThatMayNotGoEverywhere) {
  const Topology topology = machine::bulldozer();
  auto threads = mixed(3, 0);
  threads[1].allowed = {3};
  const auto step = by_workover({}, workover_ground(topology, topology.cpus()), threads);
  EXPECT_TRUE(step.masks[1].empty());
  EXPECT_FALSE(step.masks[0].empty());
}

TEST(WorkoverRule, KeepsThreadsOnTheCacheWhereTheyRunWhileThereIsRoom) {
  const Topology topology = machine::two_sockets_smt();
  const auto ground = workover_ground(topology, topology.cpus());
  const auto groups = static_cast<int>(ground[1].groups.size());
  auto threads = mixed(groups, 10 - groups);
  for (UnitThread& thread : threads)
    thread.cpu = 9;
  const auto step = by_workover({}, ground, threads);
  const auto second =
      std::ranges::count_if(step.masks, [](const CpuSet& mask) { return mask.lowest() >= 8; });
  EXPECT_EQ(second, 8);
}

// Wherever they began and however full the caches are.
TEST(WorkoverRule, LetsNoneShareWhileAnotherCacheHasAGroupToSpare) {
  const Topology topology = machine::two_sockets_smt();
  const auto ground = workover_ground(topology, topology.cpus());
  ASSERT_EQ(ground.size(), 2U);
  const auto all_groups = static_cast<int>(topology.fpu_groups().size());
  for (int fp = 1; fp <= all_groups; ++fp)
    for (int on_first = 0; on_first <= fp; ++on_first)
      for (const int integers : {0, 3}) {
        auto threads = mixed(fp, integers);
        for (int i = 0; i < fp + integers; ++i)
          threads[static_cast<std::size_t>(i)].cpu = ground[i < on_first ? 0 : 1].cpus.lowest();
        auto step = by_workover({}, ground, threads);
        std::set<std::string> groups;
        for (int i = 0; i < fp; ++i) {
          const CpuSet& mask = step.masks[static_cast<std::size_t>(i)];
          ASSERT_FALSE(mask.empty());
          groups.insert(topology.fpu_group_of(mask.lowest()).to_string());
        }
        EXPECT_EQ(std::ssize(groups), fp) << on_first << " of " << fp << " began on the first socket";
        const auto again = by_workover(step.state, ground, threads);
        EXPECT_EQ(again.masks, step.masks) << "who has moved stays";
      }
}

constexpr std::int64_t second_ns = 1'000'000'000;

// The speeds that the model predicts if each thread has a PU of its mask, assigned as the kernel would.
double log_throughput(const UnitsGround& ground, const std::vector<UnitThread>& threads,
                      const std::vector<CpuSet>& masks) {
  std::vector<model::ContendingThread> contenders;
  model::PuOfThread placement;
  std::map<int, int> count;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    contenders.push_back({.name = {}, .demand = threads[i].demand, .busy = threads[i].busy});
    int best = -1;
    for (const int cpu : masks[i])
      if (best < 0 || count[cpu] < count[best]) best = cpu;
    ++count[best];
    placement.push_back(ground.machine.pu_of(best));
  }
  return model::worth_of(ground.machine.machine, contenders, placement).log_throughput;
}

TEST_P(OnUnitMachines, UnitsKeepsLikeKindsApartFromTheWorstPlaceOn) {
  // Like kinds together, as the kernel may have left them.
  auto threads = mixed(groups_, groups_);
  std::vector<int> cpus;
  for (const CpuSet& group : topology_.fpu_groups())
    for (const int cpu : group.first(2))
      cpus.push_back(cpu);
  for (std::size_t i = 0; i < threads.size(); ++i)
    threads[i].cpu = cpus[i];
  const auto ground = units_ground(topology_, topology_.cpus());
  const auto step = by_units({}, ground, threads, second_ns);
  ASSERT_TRUE(step.changed) << step.reason;
  EXPECT_GT(step.gain, 0.02);
  std::map<int, int> of_group;
  for (int i = 0; i < groups_; ++i)
    if (!step.masks[static_cast<std::size_t>(i)].empty())
      ++of_group[group_of(step.masks[static_cast<std::size_t>(i)]).lowest()];
  for (const auto& [group, count] : of_group)
    EXPECT_EQ(count, 1) << "two that compute with floating point on group " << group;
  EXPECT_EQ(of_group.size(), static_cast<std::size_t>(groups_));
  for (const CpuSet& mask : step.masks)
    EXPECT_TRUE(mask.empty() || group_of(mask) == mask) << "as wide as the group";
}

TEST_P(OnUnitMachines, UnitsStaysOnceItHasDecided) {
  const auto threads = mixed(groups_, groups_);  // their CPUs are not known
  const auto ground = units_ground(topology_, topology_.cpus());
  auto step = by_units({}, ground, threads, second_ns);
  const auto masks = step.masks;
  for (int second = 2; second < 12; ++second) {
    step = by_units(step.state, ground, threads, second * second_ns);
    EXPECT_FALSE(step.changed) << step.reason;
    EXPECT_EQ(step.masks, masks);
  }
}

// Random threads from second to second: masks stay on the ground, are whole groups, and are never worse by
// the model than before.
TEST_P(OnUnitMachines, UnitsActsOnlyToGain) {
  model::Random random(9);
  const auto ground = units_ground(topology_, topology_.cpus());
  const CpuSet all = topology_.cpus();
  UnitsStep step;
  for (int second = 1; second < 25; ++second) {
    std::vector<UnitThread> threads;
    for (int id = 0; id < 12; ++id) {
      UnitThread thread = thread_of(id, machine::all_shared_units[random.below(machine::shared_units)],
                                    static_cast<int>(random.below(static_cast<std::size_t>(all.count()))));
      thread.samples = random.uniform() < 0.2 ? 3 : 500;
      threads.push_back(std::move(thread));
    }
    const UnitsState before = step.state;
    step = by_units(before, ground, threads, second * second_ns);
    for (const CpuSet& mask : step.masks)
      EXPECT_TRUE(all.contains_all(mask));
    if (step.changed && !step.state.given.empty()) {
      EXPECT_GE(step.gain, 0.02);
      EXPECT_GE(step.gain, 2 * step.error);
      EXPECT_TRUE(before.given.empty() || (second * second_ns - before.changed_ns) >= 3 * second_ns);
    }
  }
}

TEST(UnitsRule, TouchesNobodyWhereNothingConflicts) {
  const Topology topology = machine::bulldozer();
  const auto ground = units_ground(topology, topology.cpus());
  // Every PU there has its own integer units.
  const auto step = by_units({}, ground, mixed(0, 8), second_ns);
  EXPECT_FALSE(step.changed);
  EXPECT_THAT(step.masks, Each(CpuSet()));
  EXPECT_THAT(step.reason, HasSubstr("No two threads"));
}

TEST(UnitsRule, TouchesNobodyWhereAllAreAlikeOrMoreThanPus) {
  const Topology topology = machine::bulldozer();
  const auto ground = units_ground(topology, topology.cpus());
  // All placements are equal.
  EXPECT_FALSE(by_units({}, ground, mixed(8, 0), second_ns).changed);
  EXPECT_FALSE(by_units({}, ground, mixed(8, 8), second_ns).changed);
  EXPECT_FALSE(by_units({}, ground, mixed(1, 0), second_ns).changed);
  auto sleeping = mixed(4, 4);
  for (UnitThread& thread : sleeping)
    thread.busy = 0.01;
  EXPECT_FALSE(by_units({}, ground, sleeping, second_ns).changed);
}

// Four threads compete for the L2 and four compute. A rule based on floating point alone would miss that.
TEST(UnitsRule, KeepsThreadsApartThatFightOverACache) {
  const Topology topology = machine::bulldozer();
  std::vector<UnitThread> threads;
  for (int i = 0; i < 8; ++i)
    threads.push_back(thread_of(i, i < 4 ? SharedUnit::l2 : SharedUnit::integer));
  const auto step = by_units({}, units_ground(topology, topology.cpus()), threads, second_ns);
  ASSERT_TRUE(step.changed) << step.reason;
  std::set<int> modules;
  for (std::size_t i = 0; i < 4; ++i)
    modules.insert(topology.fpu_group_of(step.masks[i].lowest()).lowest());
  EXPECT_EQ(modules.size(), 4);
  EXPECT_THAT(by_workover({}, workover_ground(topology, topology.cpus()), threads).masks, Each(CpuSet()));
}

TEST(UnitsRule, StaysWithinWhatTheProgramMayUse) {
  const Topology topology = machine::two_sockets_smt();
  const CpuSet allowed = CpuSet::range(2, 9);
  const auto threads = mixed(4, 4);
  const auto ours = by_units({}, units_ground(topology, allowed), threads, second_ns);
  const auto workover = by_workover({}, workover_ground(topology, allowed), threads);
  for (const auto& masks : {ours.masks, workover.masks}) {
    EXPECT_NE(std::ranges::count_if(masks, [](const CpuSet& mask) { return !mask.empty(); }), 0);
    for (const CpuSet& mask : masks)
      EXPECT_TRUE(allowed.contains_all(mask));
  }
}

// Demands vary a little from second to second.
TEST(UnitsRule, LeavesThreadsWhereTheyAreWhileThatIsNearlyAsGood) {
  const Topology topology = machine::bulldozer();
  const auto ground = units_ground(topology, topology.cpus());
  model::Random random(2);
  auto threads = mixed(4, 4);
  auto step = by_units({}, ground, threads, second_ns);
  ASSERT_TRUE(step.changed) << step.reason;
  const auto masks = step.masks;
  for (int second = 2; second < 30; ++second) {
    for (std::size_t i = 0; i < threads.size(); ++i) {
      threads[i].demand = {};
      const double most = 0.95 + 0.05 * random.uniform();
      threads[i].demand[i < 4 ? SharedUnit::fp : SharedUnit::integer] = most;
      threads[i].demand[SharedUnit::l1] = 1 - most;
    }
    step = by_units(step.state, ground, threads, second * second_ns);
    EXPECT_EQ(step.masks, masks) << second;
  }
}

TEST(UnitsRule, LeavesThreadsFreeThatConflictWithNobody) {
  const Topology topology = machine::bulldozer();
  auto threads = mixed(2, 2);
  threads[0].cpu = 0;
  threads[1].cpu = 1;
  threads[2].cpu = 2;
  threads[3].cpu = 4;
  const auto step = by_units({}, units_ground(topology, topology.cpus()), threads, second_ns);
  EXPECT_TRUE(step.changed) << step.reason;
  EXPECT_NE(topology.fpu_group_of(step.masks[0].lowest()), topology.fpu_group_of(step.masks[1].lowest()));
  EXPECT_TRUE(step.masks[2].empty());
  EXPECT_TRUE(step.masks[3].empty());
}

TEST(UnitsRule, DoesNothingWhereALittleIsGainedOrLittleIsKnown) {
  const Topology topology = machine::bulldozer();
  const auto ground = units_ground(topology, topology.cpus());
  auto threads = mixed(2, 0);
  threads[0].cpu = 0;
  threads[1].cpu = 1;
  auto little = threads;
  for (UnitThread& thread : little) {
    thread.demand[SharedUnit::fp] = 0.1;
    thread.demand[SharedUnit::integer] = 0.9;
  }
  const auto too_little = by_units({}, ground, little, second_ns);
  EXPECT_FALSE(too_little.changed) << too_little.reason;
  auto unknown = threads;
  for (UnitThread& thread : unknown)
    thread.samples = 19;
  EXPECT_FALSE(by_units({}, ground, unknown, second_ns).changed);
  EXPECT_TRUE(by_units({}, ground, threads, second_ns).changed);
}

TEST(UnitsRule, GivesNoMasksWhereSharingIsNotSure) {
  machine::TopologyParts parts;
  parts.cores = {{0, 1}, {2, 3}};
  parts.architecture = "x86_64";
  parts.hypervisor = "KVM";
  parts.traits = machine::bulldozer().traits();
  const Topology doubtful(parts);
  auto threads = mixed(2, 0);
  threads[0].cpu = 0;
  threads[1].cpu = 1;
  const auto step = by_units({}, units_ground(doubtful, doubtful.cpus()), threads, second_ns);
  EXPECT_FALSE(step.changed);
  EXPECT_THAT(step.reason, HasSubstr("not sure"));

  // With measured groups it is certain. Once the measurement is no longer stable, the masks are taken back.
  const std::vector<CpuSet> measured{{0, 1}, {2, 3}};
  const auto sure = by_units({}, units_ground(doubtful, doubtful.cpus(), measured, true), threads, second_ns);
  EXPECT_TRUE(sure.changed) << sure.reason;
  const auto unsure =
      by_units(sure.state, units_ground(doubtful, doubtful.cpus(), measured, false), threads, 2 * second_ns);
  EXPECT_TRUE(unsure.changed);
  EXPECT_THAT(unsure.masks, Each(CpuSet()));
}

TEST(UnitsRule, HoldsForThreeSeconds) {
  const Topology topology = machine::bulldozer();
  const auto ground = units_ground(topology, topology.cpus());
  auto threads = mixed(2, 2);
  threads[0].cpu = 0;
  threads[1].cpu = 1;
  auto step = by_units({}, ground, threads, second_ns);
  ASSERT_TRUE(step.changed);
  const auto masks = step.masks;
  // Two more start using floating point where they are: on the modules of the first two.
  for (const std::size_t i : {2U, 3U}) {
    threads[i] = thread_of(static_cast<std::int64_t>(i), SharedUnit::fp, masks[i - 2].highest());
  }
  step = by_units(step.state, ground, threads, 2 * second_ns);
  EXPECT_FALSE(step.changed);
  step = by_units(step.state, ground, threads, 3 * second_ns);
  EXPECT_FALSE(step.changed);
  step = by_units(step.state, ground, threads, 4 * second_ns);
  EXPECT_TRUE(step.changed) << step.reason;
  std::set<int> modules;
  for (const CpuSet& mask : step.masks)
    modules.insert(topology.fpu_group_of(mask.lowest()).lowest());
  EXPECT_EQ(modules.size(), 4);
}

TEST(UnitsRule, PutsThreadsTogetherThatShareData) {
  const Topology topology = topology_of("pack:2 [numa] l3:1 core:4 l2:1 l1d:1 pu:2", "amd-smt");
  std::vector<UnitThread> threads;
  // Two pairs, each spread over both sockets.
  for (int i = 0; i < 4; ++i) {
    UnitThread thread = thread_of(i, SharedUnit::llc, i < 2 ? 2 * i : 4 + 2 * i);
    thread.data = i % 2;
    thread.overlap = 0.9;
    threads.push_back(std::move(thread));
  }
  const auto step = by_units({}, units_ground(topology, topology.cpus()), threads, second_ns);
  ASSERT_TRUE(step.changed) << step.reason;
  const auto socket = [&](std::size_t i) { return step.masks[i].lowest() / 8; };
  EXPECT_EQ(socket(0), socket(2));
  EXPECT_EQ(socket(1), socket(3));
}

TEST(UnitsRule, MovesThreadsToTheirMemory) {
  const Topology topology = topology_of("pack:2 [numa] l3:1 core:4 l2:1 l1d:1 pu:2", "amd-smt");
  UnitThread thread = thread_of(1, SharedUnit::dram, 0);
  thread.pages = {0, 1};
  const std::vector threads{thread};
  const auto step = by_units({}, units_ground(topology, topology.cpus()), threads, second_ns);
  ASSERT_TRUE(step.changed) << step.reason;
  EXPECT_GE(step.masks[0].lowest(), 8);
}

TEST(UnitsRule, LeavesThreadsAloneThatMayNotGoEverywhereAndForgetsThoseThatAreGone) {
  const Topology topology = machine::bulldozer();
  const auto ground = units_ground(topology, topology.cpus());
  auto threads = mixed(3, 0);
  for (std::size_t i = 0; i < 3; ++i)
    threads[i].cpu = static_cast<int>(i / 2);
  threads[2].allowed = {1};
  auto step = by_units({}, ground, threads, second_ns);
  ASSERT_TRUE(step.changed) << step.reason;
  EXPECT_TRUE(step.masks[2].empty());
  threads.erase(threads.begin());
  step = by_units(step.state, ground, threads, 10 * second_ns);
  EXPECT_LE(step.state.given.size(), 1);
}

// By the model: the masks of `units` are at least as good as those of `workover`, if all threads are pinned.
TEST_P(OnUnitMachines, UnitsIsAtLeastAsGoodAsWorkoverFromWhereverItBegins) {
  model::Random random(3);
  const auto ground = units_ground(topology_, topology_.cpus());
  for (int round = 0; round < 20; ++round) {
    auto threads = mixed(groups_, groups_);
    for (UnitThread& thread : threads) {
      const double fp = random.uniform() < 0.5 ? 0.1 : 0.9;
      thread.demand = {};
      thread.demand[SharedUnit::fp] = fp;
      thread.demand[SharedUnit::l2] = 1 - fp;
      thread.samples = 1'000'000;
    }
    auto workover = by_workover({}, workover_ground(topology_, topology_.cpus()), threads);
    for (std::size_t i = 0; i < threads.size(); ++i)
      threads[i].cpu = workover.masks[i].lowest();
    const auto step = by_units({}, ground, threads, second_ns);
    if (!step.changed) continue;  // workover's placement is within 2 % of the best
    EXPECT_GE(log_throughput(ground, threads, step.masks),
              log_throughput(ground, threads, workover.masks) - 1e-9);
  }
}

}  // namespace
}  // namespace millrace::placement
