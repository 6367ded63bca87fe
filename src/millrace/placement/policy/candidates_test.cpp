#include "millrace/machine/topology/test_machines.h"
#include "millrace/placement/policy/candidates.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

using machine::CpuSet;
using machine::SchedulingClass;
using machine::Topology;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

constexpr std::int64_t long_slice_ns = 20'000'000;
const Plan batch{.scheduling_class = SchedulingClass::batch};
const Plan batch_long_slice{.scheduling_class = SchedulingClass::batch, .slice_ns = long_slice_ns};
const Plan long_slice{.slice_ns = long_slice_ns};
const Plan one_to_one{.masks = MaskPolicy::one_to_one};
const Plan main_least_loaded{.masks = MaskPolicy::main_least_loaded};
const Plan spread{.masks = MaskPolicy::spread};

const machine::SchedulingAttributes ordinary{.slice_ns = 2'800'000};

// The differing plans among all candidates for a machine.
std::vector<Plan> differing(const Topology& topology, const std::vector<Crowd>& crowds,
                            const machine::SchedulingAttributes& own = ordinary) {
  const MachineState machine_state{.topology = &topology, .allowed = topology.cpus(), .load = {}};
  return plans_that_differ(candidate_plans(topology, topology.cpus(), true), machine_state, own, crowds);
}

// One process, for as long as all other crowds together.
Crowd crowd_of(int threads) { return {.processes = 1, .threads = threads, .seconds = 1}; }

TEST(Candidates, MasksThatAreEverybodysDoNotDiffer) {
  // x264 with four threads and four lookahead threads, besides main.
  EXPECT_THAT(differing(machine::two_pus(), {crowd_of(9)}), ElementsAre(batch, batch_long_slice, long_slice));
}

TEST(Candidates, MasksOfThreadsThatFitDiffer) {
  EXPECT_THAT(differing(machine::two_pus(), {crowd_of(3)}),
              ElementsAre(batch, batch_long_slice, long_slice, one_to_one, main_least_loaded));
}

TEST(Candidates, MasksDifferWhereThereAreSeveralCaches) {
  EXPECT_THAT(differing(machine::two_sockets_smt(), {crowd_of(60)}), Contains(one_to_one));
}

TEST(Candidates, OfPlansWithTheSameMasksOneIsTried) {
  // Main no longer has a core of its own once threads outnumber cores.
  const auto plans = differing(machine::two_sockets_smt(), {crowd_of(60)});
  EXPECT_THAT(plans, Not(Contains(main_least_loaded)));
}

TEST(Candidates, ThreadAloneNoticesNothing) {
  EXPECT_THAT(differing(machine::two_pus(), {crowd_of(1)}), IsEmpty());
  EXPECT_THAT(differing(machine::two_pus(), {}), IsEmpty());
}

TEST(Candidates, ProcessesOfOneThreadEachNoticeClassAndSliceOnly) {
  EXPECT_THAT(differing(machine::two_pus(), {{.processes = 2, .threads = 2, .seconds = 1}}),
              ElementsAre(batch, batch_long_slice, long_slice));
}

TEST(Candidates, CrowdsOfAMomentDoNotCount) {
  // A pool of nine threads that grows one by one.
  std::vector<Crowd> crowds = {crowd_of(9)};
  for (int threads = 1; threads < 9; ++threads)
    crowds.push_back({.processes = 1, .threads = threads, .seconds = 0.01});
  EXPECT_THAT(differing(machine::two_pus(), crowds), Not(Contains(one_to_one)));
  crowds.push_back({.processes = 1, .threads = 3, .seconds = 0.3});
  EXPECT_THAT(differing(machine::two_pus(), crowds), Contains(one_to_one));
}

TEST(Candidates, WhatThreadsHaveAlreadyDoesNotDiffer) {
  EXPECT_THAT(differing(machine::two_pus(), {crowd_of(9)},
                        {.scheduling_class = SchedulingClass::batch, .slice_ns = 2'800'000}),
              ElementsAre(batch_long_slice));
  EXPECT_THAT(differing(machine::two_pus(), {crowd_of(9)}, {.slice_ns = long_slice_ns}), ElementsAre(batch));
  // Only the fair classes have slices.
  EXPECT_THAT(
      differing(machine::two_pus(), {crowd_of(9)}, {.scheduling_class = SchedulingClass::rr, .priority = 1}),
      ElementsAre(batch, batch_long_slice));
}

TEST(Candidates, MasksAreTriedWhereThereIsAChoiceOfCpus) {
  EXPECT_THAT(candidate_plans(machine::single_pu(), machine::single_pu().cpus(), true),
              ElementsAre(batch, batch_long_slice, long_slice));
  EXPECT_THAT(candidate_plans(machine::two_pus(), machine::two_pus().cpus(), false),
              ElementsAre(batch, one_to_one, main_least_loaded));
  EXPECT_THAT(candidate_plans(machine::power7(), machine::power7().cpus(), false), Contains(spread));
}

TEST(Candidates, OnlyPlansOfTheirKindMayBe) {
  using machine::SchedulingClass;
  for (const auto* text :
       {"untouched", "class batch", "class batch, slice 20 ms", "slice 20 ms", "masks llc"})
    EXPECT_TRUE(may_be_candidate(*parse_plan(text))) << text;
  for (const auto* text : {"class fifo", "class rr", "class idle", "class other", "masks llc, class fifo",
                           "slice 100 ms", "class batch, slice 0.1 ms"})
    EXPECT_FALSE(may_be_candidate(*parse_plan(text))) << text;
}

}  // namespace
}  // namespace millrace::placement
