#include "millrace/machine/topology/test_machines.h"
#include "millrace/placement/policy/policy.h"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

using machine::CpuSet;
using machine::Topology;
using testing::Each;
using testing::ElementsAre;

// The machine of the paper on pinning at birth: four cores without hyper-threads.
Topology quad_core() {
  return Topology::from_synthetic({.description = "pack:1 l2:2 core:2 l1d:1 pu:1", .family = "x86"}).value();
}

Topology smt_quad() {
  return Topology::from_synthetic({.description = "pack:1 l3:1 core:4 l2:1 l1d:1 pu:2", .family = "x86"})
      .value();
}

struct Machine {
  const char* name;
  Topology (*make)();
};

// A main thread and `others` more.
std::vector<ThreadView> threads_with(int others) {
  std::vector<ThreadView> threads = {{.number = 0, .main = true}};
  for (int i = 1; i <= others; ++i)
    threads.push_back({.number = i});
  return threads;
}

std::vector<CpuSet> others_of(const std::vector<CpuSet>& masks) { return {masks.begin() + 1, masks.end()}; }

constexpr int numbers_of_others[] = {0, 1, 2, 3, 4, 7, 8, 9, 16, 33, 100};

class EveryPolicy : public testing::TestWithParam<std::tuple<Machine, MaskPolicy>> {
 protected:
  const Topology topology_ = std::get<0>(GetParam()).make();
  const MaskPolicy policy_ = std::get<1>(GetParam());
};

TEST_P(EveryPolicy, GivesEachThreadSomeOfWhatIsAllowed) {
  // All CPUs, and subsets like those of cpusets: the lower half, every other one, only the last.
  const CpuSet& all = topology_.cpus();
  CpuSet even;
  for (const int cpu : all)
    if (cpu % 2 == 0) even.insert(cpu);
  for (const CpuSet& allowed : {all, all.first(std::max(1, all.count() / 2)), even, CpuSet{all.highest()}})
    for (const int others : numbers_of_others) {
      const MachineState machine_state{.topology = &topology_, .allowed = allowed, .load = {}};
      const auto masks = masks_of(policy_, machine_state, threads_with(others));
      ASSERT_EQ(masks.size(), static_cast<std::size_t>(others) + 1);
      for (const CpuSet& mask : masks)
        EXPECT_TRUE(allowed.contains_all(mask)) << mask.to_string() << " of " << allowed.to_string();
      if (policy_ == MaskPolicy::none) {
        EXPECT_THAT(masks, Each(CpuSet()));
      }
    }
}

// No thread is pinned to PUs that it shares with more threads than there are PUs, not counting main.
TEST_P(EveryPolicy, LeavesRoomForEveryThreadWhereThereIsRoom) {
  const MachineState machine_state{.topology = &topology_, .allowed = topology_.cpus(), .load = {}};
  for (const int others : numbers_of_others) {
    if (others > topology_.cpus().count()) continue;
    const auto masks = others_of(masks_of(policy_, machine_state, threads_with(others)));
    for (const CpuSet& mask : masks) {
      if (mask.empty()) continue;
      const auto within =
          std::ranges::count_if(masks, [&](const CpuSet& m) { return !m.empty() && mask.contains_all(m); });
      EXPECT_LE(within, mask.count()) << mask.to_string() << ", " << others << " threads";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, EveryPolicy,
                         testing::Combine(testing::Values(Machine{"quad_core", quad_core},
                                                          Machine{"smt_quad", smt_quad},
                                                          Machine{"two_sockets", machine::two_sockets_smt},
                                                          Machine{"hybrid", machine::hybrid},
                                                          Machine{"bulldozer", machine::bulldozer},
                                                          Machine{"power7", machine::power7},
                                                          Machine{"single_pu", machine::single_pu},
                                                          Machine{"two_pus", machine::two_pus}),
                                          testing::ValuesIn(all_mask_policies)),
                         [](const auto& test) {
                           std::string name(name_of(std::get<1>(test.param)));
                           std::ranges::replace(name, '-', '_');
                           return std::string(std::get<0>(test.param).name) + "_" + name;
                         });

TEST(OneToOne, BindsEachThreadButMainToACoreOfItsOwn) {
  const Topology topology = quad_core();
  const MachineState machine_state{.topology = &topology, .allowed = topology.cpus(), .load = {}};
  EXPECT_THAT(masks_of(MaskPolicy::one_to_one, machine_state, threads_with(4)),
              ElementsAre(CpuSet{}, CpuSet{0}, CpuSet{1}, CpuSet{2}, CpuSet{3}));
}

TEST(OneToOne, TakesOnePuOfEachCoreAndWidensAsThreadsOutnumberCoresAndPus) {
  const Topology topology = smt_quad();
  const MachineState machine_state{.topology = &topology, .allowed = topology.cpus(), .load = {}};
  EXPECT_THAT(others_of(masks_of(MaskPolicy::one_to_one, machine_state, threads_with(4))),
              ElementsAre(CpuSet{0}, CpuSet{2}, CpuSet{4}, CpuSet{6}));
  EXPECT_THAT(others_of(masks_of(MaskPolicy::one_to_one, machine_state, threads_with(5))),
              ElementsAre(CpuSet{0, 1}, CpuSet{2, 3}, CpuSet{4, 5}, CpuSet{6, 7}, CpuSet{0, 1}));
  EXPECT_THAT(others_of(masks_of(MaskPolicy::one_to_one, machine_state, threads_with(9))),
              Each(topology.cpus()));
}

TEST(OneToOne, FillsFastCoresFirst) {
  const Topology topology = machine::hybrid();
  const MachineState machine_state{.topology = &topology, .allowed = topology.cpus(), .load = {}};
  EXPECT_THAT(others_of(masks_of(MaskPolicy::one_to_one, machine_state, threads_with(4))),
              ElementsAre(CpuSet{0}, CpuSet{2}, CpuSet{4}, CpuSet{6}));
}

// The paper's figures 1 and 2: as many threads as groups of PUs that share floating-point units.
struct Grouped {
  const char* name;
  const char* description;
  const char* family;
  int groups;
};

class OnSharedUnits : public testing::TestWithParam<std::tuple<Grouped, MaskPolicy>> {};

TEST_P(OnSharedUnits, ThreadsHaveAnFpuGroupEachWhileThereAreEnough) {
  const auto& [machine, policy] = GetParam();
  const auto topology =
      Topology::from_synthetic({.description = machine.description, .family = machine.family});
  ASSERT_TRUE(topology) << topology.error().message;
  ASSERT_EQ(topology->fpu_groups().size(), static_cast<std::size_t>(machine.groups));
  const MachineState machine_state{.topology = &*topology, .allowed = topology->cpus(), .load = {}};
  // `spread` counts main among the threads.
  const int most = policy == MaskPolicy::spread ? machine.groups - 1 : machine.groups;
  for (int threads = 1; threads <= most; ++threads) {
    std::set<int> groups;
    for (const CpuSet& mask : others_of(masks_of(policy, machine_state, threads_with(threads)))) {
      const CpuSet& group = topology->fpu_group_of(mask.lowest());
      EXPECT_TRUE(group.contains_all(mask)) << mask.to_string();
      groups.insert(group.lowest());
    }
    EXPECT_EQ(groups.size(), static_cast<std::size_t>(threads));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Machines, OnSharedUnits,
    testing::Combine(
        testing::Values(Grouped{"bulldozer", "pack:1 l3:1 l2:4 l1i:1 core:2 l1d:1 pu:1", "amd-bulldozer", 4},
                        Grouped{"bulldozer_as_the_kernel_shows_it", "pack:1 l3:1 l2:4 core:1 pu:2",
                                "amd-bulldozer", 4},
                        Grouped{"power7_smt2", "pack:1 l3:1 core:8 l2:1 l1d:1 pu:2", "power7", 8},
                        Grouped{"power7_smt4", "pack:1 l3:1 core:8 l2:1 l1d:1 pu:4", "power7", 8},
                        Grouped{"power10_smt8", "pack:1 l3:1 core:2 l2:1 l1d:2 pu:4", "power9-10", 4},
                        Grouped{"a510_pairs", "pack:1 l3:1 l2:4 core:2 l1d:1 pu:1", "cortex-a510", 4}),
        testing::Values(MaskPolicy::one_to_one, MaskPolicy::main_least_loaded, MaskPolicy::spread)),
    [](const auto& test) {
      std::string name =
          std::string(std::get<0>(test.param).name) + "_" + std::string(name_of(std::get<1>(test.param)));
      std::ranges::replace(name, '-', '_');
      return name;
    });

TEST(OneToOne, TakesSecondCoresOfModulesOnlyWhenTheFirstOnesAreTaken) {
  const Topology topology = machine::bulldozer();
  const MachineState machine_state{.topology = &topology, .allowed = topology.cpus(), .load = {}};
  EXPECT_THAT(others_of(masks_of(MaskPolicy::one_to_one, machine_state, threads_with(6))),
              ElementsAre(CpuSet{0}, CpuSet{2}, CpuSet{4}, CpuSet{6}, CpuSet{1}, CpuSet{3}));
}

TEST(Compact, FillsModulesOneAfterTheOther) {
  const Topology topology = machine::bulldozer();
  const MachineState machine_state{.topology = &topology, .allowed = topology.cpus(), .load = {}};
  EXPECT_THAT(masks_of(MaskPolicy::compact, machine_state, threads_with(3)), Each(CpuSet::range(0, 3)));
}

TEST(MainLeastLoaded, PutsMainWhereNobodyElseUsesTheFloatingPointUnits) {
  const Topology topology = machine::bulldozer();
  // The second PUs of the others' modules are idle; the fourth module is busy.
  const MachineState machine_state{
      .topology = &topology, .allowed = topology.cpus(), .load = {0, 0, 0, 0, 0, 0, 0.5, 0.6}};
  EXPECT_EQ(masks_of(MaskPolicy::main_least_loaded, machine_state, threads_with(3)).front(), CpuSet{6});
}

class MainLeastLoaded : public testing::TestWithParam<int> {};

TEST_P(MainLeastLoaded, PutsMainOnTheLeastLoadedCoreThatIsFree) {
  const Topology topology = quad_core();
  const int idle = GetParam();
  std::vector<double> load(4, 0.9);
  load[static_cast<std::size_t>(idle)] = 0.1;
  const MachineState machine_state{.topology = &topology, .allowed = topology.cpus(), .load = load};
  // Four threads leave no core free, so main gets the least loaded one. Two threads leave cores 2 and 3, and
  // future threads take 2 first.
  EXPECT_EQ(masks_of(MaskPolicy::main_least_loaded, machine_state, threads_with(4)).front(), CpuSet{idle});
  EXPECT_EQ(masks_of(MaskPolicy::main_least_loaded, machine_state, threads_with(2)).front(),
            CpuSet{idle == 2 ? 2 : 3});
  EXPECT_EQ(others_of(masks_of(MaskPolicy::main_least_loaded, machine_state, threads_with(4))),
            others_of(masks_of(MaskPolicy::one_to_one, machine_state, threads_with(4))));
}

INSTANTIATE_TEST_SUITE_P(Cores, MainLeastLoaded, testing::Range(0, 4));

TEST(MainLeastLoaded, LeavesMainWhereItIsWhileNoCoreIsClearlyBetter) {
  const Topology topology = quad_core();
  std::vector<ThreadView> threads = threads_with(2);
  threads.front().mask = CpuSet{2};
  MachineState machine_state{.topology = &topology, .allowed = topology.cpus(), .load = {0, 0, 0.25, 0.2}};
  EXPECT_EQ(masks_of(MaskPolicy::main_least_loaded, machine_state, threads).front(), CpuSet{2});
  machine_state.load = {0, 0, 0.4, 0.2};
  EXPECT_EQ(masks_of(MaskPolicy::main_least_loaded, machine_state, threads).front(), CpuSet{3});
}

TEST(MainLeastLoaded, LeavesMainAloneWhenItIsAloneOrThreadsOutnumberCores) {
  const Topology topology = quad_core();
  const MachineState machine_state{.topology = &topology, .allowed = topology.cpus(), .load = {}};
  for (const int others : {0, 5, 20})
    EXPECT_EQ(masks_of(MaskPolicy::main_least_loaded, machine_state, threads_with(others)).front(), CpuSet());
}

TEST(Spread, TakesTheLastLevelCachesInTurn) {
  const Topology topology = machine::two_sockets_smt();
  const MachineState machine_state{.topology = &topology, .allowed = topology.cpus(), .load = {}};
  const CpuSet first = CpuSet::range(0, 7);
  const CpuSet second = CpuSet::range(8, 15);
  EXPECT_THAT(masks_of(MaskPolicy::spread, machine_state, threads_with(3)),
              ElementsAre(first, second, first, second));
}

TEST(Llc, KeepsConsecutiveBirthsTogetherOnAsFewCachesAsHoldThem) {
  const Topology topology = machine::two_sockets_smt();
  const MachineState machine_state{.topology = &topology, .allowed = topology.cpus(), .load = {}};
  const CpuSet first = CpuSet::range(0, 7);
  EXPECT_THAT(masks_of(MaskPolicy::llc, machine_state, threads_with(7)), Each(first));
  const auto masks = masks_of(MaskPolicy::llc, machine_state, threads_with(15));
  EXPECT_EQ(std::ranges::count(masks, first), 8);
  EXPECT_TRUE(std::ranges::is_sorted(masks, {}, [](const CpuSet& mask) { return mask.lowest(); }));
}

TEST(Compact, UsesTheFewestCoresOfOneCacheThatHaveAPuForEach) {
  const Topology topology = machine::two_sockets_smt();
  const MachineState machine_state{.topology = &topology, .allowed = topology.cpus(), .load = {}};
  EXPECT_THAT(masks_of(MaskPolicy::compact, machine_state, threads_with(2)), Each(CpuSet::range(0, 3)));
  EXPECT_THAT(masks_of(MaskPolicy::compact, machine_state, threads_with(99)), Each(topology.cpus()));
}

TEST(CpuLists, AreTakenInTurnByOrderOfBirthWithinWhatIsAllowed) {
  const Topology topology = quad_core();
  const MachineState machine_state{.topology = &topology, .allowed = {0, 1, 2}, .load = {}};
  const auto plans = cpu_list_policy({{0}, {1, 3}, {3}})(machine_state, threads_with(3));
  EXPECT_EQ(plans[0].mask, CpuSet{0});
  EXPECT_EQ(plans[1].mask, CpuSet{1});
  EXPECT_EQ(plans[2].mask, CpuSet{});
  EXPECT_EQ(plans[3].mask, CpuSet{0});
}

TEST(PolicyOfAPlan, GivesClassAndSliceToEveryThread) {
  const Topology topology = quad_core();
  const MachineState machine_state{.topology = &topology, .allowed = topology.cpus(), .load = {}};
  const Plan plan{.masks = MaskPolicy::one_to_one,
                  .scheduling_class = machine::SchedulingClass::batch,
                  .slice_ns = 3'000'000};
  const auto plans = policy_of(plan)(machine_state, threads_with(2));
  for (const ThreadPlan& each : plans) {
    EXPECT_EQ(each.scheduling_class, plan.scheduling_class);
    EXPECT_EQ(each.slice_ns, plan.slice_ns);
  }
  EXPECT_EQ(plans[1].mask, CpuSet{0});
}

TEST(PolicyOfAPlan, WithoutMasksNeedsNoTopology) {
  const auto plans =
      policy_of({.scheduling_class = machine::SchedulingClass::batch})(MachineState(), threads_with(3));
  EXPECT_EQ(plans.size(), 4U);
}

}  // namespace
}  // namespace millrace::placement
