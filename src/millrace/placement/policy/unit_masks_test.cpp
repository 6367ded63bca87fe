#include "millrace/machine/topology/test_machines.h"
#include "millrace/placement/policy/unit_masks.h"

#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

using machine::CpuSet;
using machine::SharedUnit;
using machine::Topology;

UnitThread using_most(SharedUnit unit, int number, double share = 1) {
  UnitThread thread{.number = number};
  thread.demand[unit] = share;
  thread.demand[unit == SharedUnit::integer ? SharedUnit::l1 : SharedUnit::integer] = 1 - share;
  return thread;
}

std::vector<UnitThread> halves(int count, SharedUnit first, SharedUnit second) {
  std::vector<UnitThread> threads;
  for (int i = 0; i < count; ++i)
    threads.push_back(using_most(i < count / 2 ? first : second, i));
  return threads;
}

// How many of `threads` that use `unit` are in each group.
void expect_one_in_each_group(const Topology& topology, const std::vector<UnitThread>& threads,
                              const UnitMasks& masks, SharedUnit unit) {
  std::set<int> groups;
  int count = 0;
  for (const UnitThread& thread : threads) {
    if (thread.demand[unit] < 0.5) continue;
    ASSERT_TRUE(masks.contains(thread.number));
    groups.insert(topology.fpu_group_of(masks.at(thread.number).lowest()).lowest());
    ++count;
  }
  EXPECT_EQ(groups.size(), count);
}

// Figure 1 of the paper: four floating-point threads of eight on a Bulldozer have a module each.
TEST(UnitMasks, GiveEachFloatingPointThreadAGroupOfItsOwn) {
  const Topology topology = machine::bulldozer();
  const auto threads = halves(8, SharedUnit::fp, SharedUnit::integer);
  for (const auto& masks : {workover_masks(topology, topology.cpus(), threads, {}),
                            apart_masks(topology, topology.cpus(), threads, {})})
    expect_one_in_each_group(topology, threads, masks, SharedUnit::fp);
}

// Four threads that fight over the L2 and four that compute: no rule by floating point alone would see it.
TEST(UnitMasks, KeepThreadsApartThatFightOverACache) {
  const Topology topology = machine::bulldozer();
  const auto threads = halves(8, SharedUnit::l2, SharedUnit::integer);
  expect_one_in_each_group(topology, threads, apart_masks(topology, topology.cpus(), threads, {}),
                           SharedUnit::l2);
  EXPECT_TRUE(workover_masks(topology, topology.cpus(), threads, {}).empty());
}

TEST(UnitMasks, AreAsWideAsTheGroupOrThePaperSaysOnePu) {
  const Topology topology = machine::bulldozer();
  const auto threads = halves(8, SharedUnit::fp, SharedUnit::integer);
  for (const auto& [number, mask] : apart_masks(topology, topology.cpus(), threads, {}))
    EXPECT_EQ(mask, topology.fpu_group_of(mask.lowest()));
  for (const auto& [number, mask] : workover_masks(topology, topology.cpus(), threads, {}))
    EXPECT_EQ(mask.count(), 1);
}

TEST(UnitMasks, AreNoneWhereNothingConflicts) {
  const auto nothing_by_ours = [](const Topology& topology, const std::vector<UnitThread>& threads) {
    return apart_masks(topology, topology.cpus(), threads, {}).empty();
  };
  const Topology bulldozer = machine::bulldozer();
  EXPECT_TRUE(nothing_by_ours(bulldozer, {}));
  EXPECT_TRUE(nothing_by_ours(bulldozer, {using_most(SharedUnit::fp, 0)}));
  // All alike: wherever they are, it is the same.
  EXPECT_TRUE(nothing_by_ours(bulldozer, halves(8, SharedUnit::fp, SharedUnit::fp)));
  // More threads than PUs are to be moved where a PU is free.
  EXPECT_TRUE(nothing_by_ours(bulldozer, halves(16, SharedUnit::fp, SharedUnit::integer)));
  // Threads that sleep are in nobody's way.
  auto sleeping = halves(8, SharedUnit::fp, SharedUnit::integer);
  for (UnitThread& thread : sleeping)
    thread.busy = 0.01;
  EXPECT_TRUE(nothing_by_ours(bulldozer, sleeping));
  // Nothing is shared.
  for (const Topology& topology : {machine::two_pus(), machine::single_pu()}) {
    EXPECT_TRUE(nothing_by_ours(topology, halves(2, SharedUnit::fp, SharedUnit::integer)));
    EXPECT_TRUE(workover_masks(topology, topology.cpus(), halves(2, SharedUnit::fp, SharedUnit::integer), {})
                    .empty());
  }
}

TEST(UnitMasks, StayWithinWhatTheProgramMayUse) {
  const Topology topology = machine::two_sockets_smt();
  const CpuSet allowed = CpuSet::range(2, 9);
  const auto threads = halves(8, SharedUnit::fp, SharedUnit::integer);
  for (const auto& masks :
       {workover_masks(topology, allowed, threads, {}), apart_masks(topology, allowed, threads, {})}) {
    EXPECT_FALSE(masks.empty());
    for (const auto& [number, mask] : masks) {
      EXPECT_TRUE(allowed.contains_all(mask));
      EXPECT_FALSE(mask.empty());
    }
  }
}

// What is as good as before, or nearly, is left: a thread that moves loses what its caches hold.
TEST(UnitMasks, LeaveThreadsWhereTheyAreWhileThatIsAsGood) {
  const Topology topology = machine::bulldozer();
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same each time
  auto threads = halves(8, SharedUnit::fp, SharedUnit::integer);
  UnitMasks ours = apart_masks(topology, topology.cpus(), threads, {});
  UnitMasks workover = workover_masks(topology, topology.cpus(), threads, {});
  ASSERT_FALSE(ours.empty());
  for (int round = 0; round < 20; ++round) {
    for (UnitThread& thread : threads) {
      const double share = 0.97 + 0.0001 * static_cast<double>(random() % 300);
      thread = using_most(thread.number < 4 ? SharedUnit::fp : SharedUnit::integer, thread.number, share);
    }
    EXPECT_EQ(apart_masks(topology, topology.cpus(), threads, ours), ours);
    EXPECT_EQ(workover_masks(topology, topology.cpus(), threads, workover), workover);
  }
}

TEST(UnitMasks, FollowThreadsThatChangeTheirWork) {
  const Topology topology = machine::bulldozer();
  UnitMasks ours = apart_masks(topology, topology.cpus(), halves(8, SharedUnit::fp, SharedUnit::integer), {});
  // Two neighbours in the old order change places with two of the other kind.
  std::vector<UnitThread> threads;
  for (int i = 0; i < 8; ++i)
    threads.push_back(using_most(i % 2 == 0 ? SharedUnit::fp : SharedUnit::integer, i));
  ours = apart_masks(topology, topology.cpus(), threads, ours);
  expect_one_in_each_group(topology, threads, ours, SharedUnit::fp);
}

}  // namespace
}  // namespace millrace::placement
