#include "millrace/machine/topology/affinity_arrangement.h"
#include "millrace/machine/topology/test_machines.h"

#include <algorithm>
#include <array>
#include <ostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::machine {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using enum AffinityArrangement;

constexpr auto& all_arrangements = all_affinity_arrangements;

struct Machine {
  const char* name;
  Topology (*make)();
};

std::ostream& operator<<(std::ostream& out, const Machine& machine) { return out << machine.name; }

// Every machine with every arrangement. Each test iterates over worker counts and I/O PUs.
class EveryArrangement : public testing::TestWithParam<std::tuple<Machine, AffinityArrangement>> {
 protected:
  Topology topology_ = std::get<0>(GetParam()).make();
  AffinityArrangement arrangement_ = std::get<1>(GetParam());

  // The PUs that the arrangement leaves to the workers by definition.
  [[nodiscard]] CpuSet eligible(const CpuSet& usable, int io) const {
    if (arrangement_ == io_diff) return usable - topology_.core_of(io);
    if (arrangement_ == module_diff) return usable - topology_.fpu_group_of(io);
    return usable;
  }

  void expect_keeps_its_promise(const CpuSet& usable, int workers, int io) const {
    const auto plan = arrange(topology_, usable, {arrangement_, workers, io});
    const int available = eligible(usable, io).count();
    if (arrangement_ != free && workers > available) {
      ASSERT_FALSE(plan) << workers << " workers, I/O on CPU " << io;
      EXPECT_EQ(plan.error().kind, ErrorKind::usage);
      EXPECT_THAT(plan.error().message, AllOf(HasSubstr(name_of(arrangement_)), HasSubstr("use")));
      return;
    }
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_EQ(std::ssize(plan->workers), workers);
    CpuSet taken;
    for (const CpuSet& mask : plan->workers) {
      EXPECT_FALSE(mask.empty());
      EXPECT_TRUE(eligible(usable, io).contains_all(mask));
      if (arrangement_ == free) continue;
      EXPECT_EQ(mask.count(), 1);
      EXPECT_FALSE(taken.intersects(mask)) << "two workers on CPU " << mask.to_string();
      taken |= mask;
    }
    EXPECT_EQ(plan->io, arrangement_ == free || arrangement_ == pinned ? usable : CpuSet{io});
    if (arrangement_ == io_same) {
      EXPECT_EQ(plan->workers.back(), CpuSet{io});
    }
    expect_no_core_is_doubled_needlessly(eligible(usable, io), *plan);
  }

  // No core gets two workers while another eligible core has none.
  void expect_no_core_is_doubled_needlessly(const CpuSet& candidates, const AffinityPlan& plan) const {
    if (arrangement_ == free) return;
    CpuSet taken;
    for (const CpuSet& mask : plan.workers)
      taken |= mask;
    int most = 0;
    int least_with_room = CpuSet::limit;
    for (const CpuSet& core : topology_.cores()) {
      const int used = (core & taken).count();
      most = std::max(most, used);
      if (used < (core & candidates).count()) least_with_room = std::min(least_with_room, used);
    }
    EXPECT_LE(most, least_with_room + 1);
  }
};

TEST_P(EveryArrangement, KeepsItsPromiseForEveryWorkerCountAndIoPu) {
  const CpuSet all = topology_.cpus();
  // The whole machine, and a subset with irregular gaps.
  CpuSet part;
  for (const int cpu : all)
    if (cpu % 3 != 1) part.insert(cpu);
  for (const CpuSet& usable : {all, part})
    for (const int io : usable)
      for (int workers = 1; workers <= usable.count() + 1; ++workers)
        expect_keeps_its_promise(usable, workers, io);
}

INSTANTIATE_TEST_SUITE_P(
    Machines, EveryArrangement,
    testing::Combine(testing::Values(Machine{"bulldozer", bulldozer}, Machine{"power7", power7},
                                     Machine{"two_sockets_smt", two_sockets_smt}, Machine{"hybrid", hybrid},
                                     Machine{"single_pu", single_pu}, Machine{"two_pus", two_pus}),
                     testing::ValuesIn(all_arrangements)),
    [](const auto& machine) {
      std::string name =
          fmt::format("{}_{}", std::get<0>(machine.param).name, name_of(std::get<1>(machine.param)));
      std::ranges::replace(name, '-', '_');
      return name;
    });

std::vector<CpuSet> workers_of(const Topology& topology, AffinityArrangement arrangement, int workers,
                               int io) {
  return arrange(topology, topology.cpus(), {arrangement, workers, io}).value().workers;
}

TEST(Arrange, IoDiffStaysInTheModuleWhichModuleDiffLeaves) {
  EXPECT_THAT(workers_of(bulldozer(), io_diff, 1, 2), ElementsAre(CpuSet{3}));
  EXPECT_THAT(workers_of(bulldozer(), module_diff, 1, 2), ElementsAre(CpuSet{0}));
  EXPECT_THAT(workers_of(bulldozer(), io_same, 2, 2), ElementsAre(CpuSet{3}, CpuSet{2}));
}

TEST(Arrange, PinnedGivesEachModuleOneWorkerBeforeASecond) {
  EXPECT_THAT(workers_of(bulldozer(), pinned, 5, 0),
              ElementsAre(CpuSet{0}, CpuSet{2}, CpuSet{4}, CpuSet{6}, CpuSet{1}));
}

TEST(Arrange, FillsTheIoThreadsSocketFirstButNoSiblings) {
  EXPECT_THAT(workers_of(two_sockets_smt(), io_diff, 4, 8),
              ElementsAre(CpuSet{10}, CpuSet{12}, CpuSet{14}, CpuSet{0}));
}

TEST(Arrange, TakesFastCoresThenSlowOnesThenSiblings) {
  EXPECT_THAT(workers_of(hybrid(), pinned, 8, 0), ElementsAre(CpuSet{0}, CpuSet{2}, CpuSet{4}, CpuSet{6},
                                                              CpuSet{8}, CpuSet{10}, CpuSet{1}, CpuSet{3}));
}

TEST(Arrange, PutsIoOnTheFastestKindUnlessTold) {
  const Topology topology = hybrid();
  EXPECT_EQ(arrange(topology, {3, 4, 6}, {io_same, 1}).value().io, CpuSet{3});
  EXPECT_EQ(arrange(topology, {4, 6}, {io_same, 1}).value().io, CpuSet{4});
}

// Each listed arrangement works with its number of workers and fails with one more. All others fail.
TEST(BindingArrangements, AreThosePossibleHereWithAsManyWorkersAsThereArePusFor) {
  for (const auto make : {bulldozer, power7, two_sockets_smt, hybrid, single_pu, two_pus}) {
    const Topology topology = make();
    for (const CpuSet& usable : {topology.cpus(), topology.cpus().first(1), topology.cpus().first(3)}) {
      CpuSet listed;
      for (const ArrangementLimit& limit : binding_arrangements(topology, usable)) {
        EXPECT_NE(limit.arrangement, free);
        EXPECT_TRUE(arrange(topology, usable, {limit.arrangement, limit.most_workers}));
        EXPECT_FALSE(arrange(topology, usable, {limit.arrangement, limit.most_workers + 1}));
        listed.insert(static_cast<int>(limit.arrangement));
      }
      for (const AffinityArrangement arrangement : {pinned, io_same, io_diff, module_diff}) {
        if (!listed.contains(static_cast<int>(arrangement)) && arrangement != module_diff) {
          EXPECT_FALSE(arrange(topology, usable, {arrangement, 1})) << name_of(arrangement);
        }
      }
    }
  }
}

// The stated number of workers can be arranged, and one more cannot.
TEST_P(EveryArrangement, HasPusForAsManyWorkersAsItSays) {
  for (const CpuSet& usable : {topology_.cpus(), topology_.cpus().first(1), topology_.cpus().first(3),
                               topology_.cpus() - topology_.cpus().first(1)}) {
    const int most = most_workers(topology_, usable, arrangement_);
    if (arrangement_ == free) {
      EXPECT_EQ(most, std::numeric_limits<int>::max());
      continue;
    }
    if (most > 0) {
      EXPECT_TRUE(arrange(topology_, usable, {arrangement_, most})) << usable.to_string();
    }
    EXPECT_FALSE(arrange(topology_, usable, {arrangement_, most + 1})) << usable.to_string();
  }
}

TEST(BindingArrangements, LeaveOutModulesWhereACoreIsOne) {
  const auto has_modules = [](const Topology& topology) {
    return std::ranges::any_of(binding_arrangements(topology, topology.cpus()),
                               [](const auto& limit) { return limit.arrangement == module_diff; });
  };
  EXPECT_TRUE(has_modules(bulldozer()));
  EXPECT_FALSE(has_modules(two_sockets_smt()));
  EXPECT_FALSE(has_modules(two_pus()));
}

TEST(Arrange, ErrorsNameWhatIsMissingAndTheWayOut) {
  const auto message = [](const Topology& topology, AffinityArrangement arrangement, int workers) {
    return arrange(topology, topology.cpus(), {arrangement, workers, 0}).error().message;
  };
  EXPECT_EQ(
      message(single_pu(), io_diff, 1),
      "affinity io-diff: every usable PU lies in the I/O thread's core (CPU 0); use io-same, pinned or free");
  EXPECT_EQ(message(bulldozer(), module_diff, 7), "affinity module-diff with 7 workers needs 7 PUs outside "
                                                  "the I/O thread's module (CPU 0-1), of which 6 can "
                                                  "be used; use 6 workers, or affinity free");
  EXPECT_EQ(
      message(two_pus(), pinned, 3),
      "affinity pinned with 3 workers needs 3 PUs, of which 2 can be used; use 2 workers, or affinity free");
}

TEST(Arrange, RefusesImpossibleRequests) {
  const Topology topology = two_pus();
  EXPECT_FALSE(arrange(topology, topology.cpus(), {free, 0}));
  EXPECT_FALSE(arrange(topology, {0}, {io_same, 1, 1}));
  EXPECT_FALSE(arrange(topology, {5, 6}, {free, 1}));
}

TEST(AffinityArrangement, NamesReadBack) {
  for (const AffinityArrangement arrangement : all_arrangements)
    EXPECT_EQ(parse_affinity_arrangement(name_of(arrangement)), arrangement);
  const auto unknown = parse_affinity_arrangement("io_same");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, AllOf(HasSubstr("io_same"), HasSubstr("io-same")));
}

}  // namespace
}  // namespace millrace::machine
