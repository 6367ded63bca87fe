#include "millrace/machine/limits/usable_cpus.h"
#include "millrace/machine/probe/pair_probe.h"
#include "millrace/machine/probe/probe_report.h"
#include "millrace/machine/thread/refused_calls_testing.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/machine/topology/test_machines.h"

#include <algorithm>
#include <functional>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/syscall.h>

namespace millrace::machine {
namespace {

using enum SharedUnit;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

// Times next to a kernel relative to the times alone. Recorded on two vCPUs of a virtual machine (Zen 5)
// during half an hour. Rows run next to columns, in the order of SharedUnit.
using Recorded = std::array<std::array<double, shared_units>, shared_units>;

// While the hypervisor ran both vCPUs on one core. Two recordings; each value is the slower one.
constexpr Recorded on_one_core{{{1.39, 1.00, 0.96, 0.94, 1.01, 1.00, 0.90},
                                {0.91, 1.93, 0.83, 0.91, 0.91, 0.92, 0.91},
                                {0.91, 1.34, 1.33, 0.80, 0.81, 0.87, 0.84},
                                {0.98, 0.94, 0.90, 1.50, 2.10, 2.00, 2.30},
                                {0.90, 0.92, 0.90, 0.95, 2.40, 2.40, 3.10},
                                {0.87, 0.86, 0.88, 0.90, 1.30, 1.40, 1.70},
                                {0.90, 0.90, 0.90, 0.90, 1.20, 1.40, 1.77}}};
constexpr Recorded on_one_core_again{{{1.45, 1.00, 1.06, 0.94, 1.01, 1.00, 0.90},
                                      {0.91, 1.81, 0.89, 0.91, 0.91, 0.92, 0.91},
                                      {0.91, 1.34, 1.36, 0.80, 0.81, 0.87, 0.84},
                                      {0.98, 0.94, 0.90, 1.50, 2.10, 2.20, 2.30},
                                      {0.90, 0.92, 0.90, 0.95, 2.60, 2.70, 3.30},
                                      {0.87, 0.86, 0.88, 0.90, 1.60, 1.60, 1.90},
                                      {0.90, 0.90, 0.90, 0.90, 1.20, 1.40, 1.77}}};
// Another machine of the same type: any neighbour slows int down.
constexpr Recorded on_one_core_of_shared_front_end{{{1.81, 1.39, 1.39, 1.37, 1.53, 1.52, 1.40},
                                                    {1.02, 1.97, 1.10, 1.01, 1.02, 1.04, 1.04},
                                                    {1.34, 2.02, 1.80, 1.17, 1.08, 1.15, 1.10},
                                                    {1.25, 1.20, 1.22, 1.45, 2.14, 2.43, 2.25},
                                                    {1.15, 1.09, 1.12, 1.18, 2.88, 2.66, 2.56},
                                                    {1.59, 1.01, 1.04, 1.07, 1.84, 1.92, 2.72},
                                                    {1.03, 1.10, 1.00, 1.25, 1.30, 1.53, 1.78}}};

Recorded undisturbed(double dram) {
  Recorded all;
  for (auto& row : all)
    row.fill(1.01);
  all[6][6] = dram;
  return all;
}

// A Bulldozer module: separate integer units, shared floating-point units.
Recorded on_one_module() {
  Recorded all = undisturbed(1.1);
  all[1][1] = all[1][2] = all[2][1] = all[2][2] = 1.8;
  return all;
}

// The windows that a probe would measure. `disturb` may change each window, given its number.
PairMeasurement measurement_of(const Recorded& recorded, double handover_ns,
                               const std::function<void(std::size_t, ProbeWindow&)>& disturb = {}) {
  PairMeasurement measurement{.windows = {}, .handover_ns = handover_ns};
  const std::array<double, 2> clocks{1e6, 0.9e6};  // one PU is slower
  const auto speed = [&](std::size_t side, std::optional<SharedUnit> unit, std::optional<SharedUnit> other) {
    if (!unit) return 0.0;
    return clocks[side] /
           (other ? recorded[static_cast<std::size_t>(*unit)][static_cast<std::size_t>(*other)] : 1);
  };
  for (const ProbeStep& step : probe_steps()) {
    ProbeWindow window{.step = step,
                       .first_speed = speed(0, step.first, step.second),
                       .second_speed = speed(1, step.second, step.first)};
    if (disturb) disturb(measurement.windows.size(), window);
    measurement.windows.push_back(window);
  }
  return measurement;
}

TEST(ProbeSteps, HoldEveryPairOfKernelsAndEachAlone) {
  const auto& steps = probe_steps();
  const auto count = [&](const ProbeStep& step) { return std::ranges::count(steps, step); };
  for (const SharedUnit unit : all_shared_units) {
    EXPECT_GE(count({unit, std::nullopt}), 1);
    EXPECT_GE(count({std::nullopt, unit}), 1);
    for (const SharedUnit beside : all_shared_units)
      EXPECT_GE(count({unit, beside}), 1);
  }
  EXPECT_EQ(count({fp, fp}), 3);
  // A disturbance shorter than a quarter of the probe cannot hit two of the three windows.
  const auto first = std::ranges::find(steps, ProbeStep{fp, fp});
  const auto second = std::find(first + 1, steps.end(), ProbeStep{fp, fp});
  const auto third = std::find(second + 1, steps.end(), ProbeStep{fp, fp});
  EXPECT_GT((second - first) * 4, std::ssize(steps));
  EXPECT_GT((third - second) * 4, std::ssize(steps));
}

TEST(PairJudgement, KnowsWhatWasRecorded) {
  EXPECT_EQ(judge(measurement_of(undisturbed(1.06), 223)).state, PairState::apart);
  EXPECT_EQ(judge(measurement_of(undisturbed(1.06), 245)).state, PairState::apart);
  EXPECT_EQ(judge(measurement_of(undisturbed(1.78), 51)).state, PairState::same_llc);
  EXPECT_EQ(judge(measurement_of(undisturbed(1.78), 75)).state, PairState::same_llc);
  EXPECT_EQ(judge(measurement_of(on_one_core, 45)).state, PairState::siblings);
  EXPECT_EQ(judge(measurement_of(on_one_core_again, 60)).state, PairState::siblings);
  EXPECT_EQ(judge(measurement_of(on_one_core_of_shared_front_end, 40)).state, PairState::siblings);
  EXPECT_EQ(judge(measurement_of(on_one_module(), 80)).state, PairState::siblings);
}

TEST(PairJudgement, TellsSlowdownsOverTheLeastOfARow) {
  const PairJudgement judgement = judge(measurement_of(on_one_core, 45));
  EXPECT_NEAR(judgement.slowdown[fp][fp], 1.93 / 0.83, 1e-9);
  EXPECT_NEAR(judgement.slowdown[integer][fp], 1 / 0.9, 1e-9);
  EXPECT_NEAR(judgement.slowdown[simd][l1], 1, 1e-9);
  EXPECT_THAT(judgement.reason, HasSubstr("fma"));
}

TEST(PairJudgement, IsUnclearWhereTooLittleIsLeft) {
  const auto all_disturbed = [](std::size_t, ProbeWindow& window) { window.disturbed = true; };
  EXPECT_EQ(judge(measurement_of(on_one_core, 45, all_disturbed)).state, PairState::unclear);
  EXPECT_EQ(judge(measurement_of(on_one_core, 0)).state, PairState::unclear);
  EXPECT_EQ(judge({}).state, PairState::unclear);
  PairMeasurement begun = measurement_of(undisturbed(1), 230);
  begun.windows.resize(5);
  EXPECT_EQ(judge(begun).state, PairState::unclear);
}

// Two vCPUs that take turns on one PU: every kernel takes twice as long next to any other.
TEST(PairJudgement, IsUnclearWhereAllKindsDisturbEachOtherAlike) {
  Recorded all;
  for (auto& row : all)
    row.fill(2);
  EXPECT_EQ(judge(measurement_of(all, 60)).state, PairState::unclear);
}

class Disturbed : public testing::TestWithParam<unsigned> {};

INSTANTIATE_TEST_SUITE_P(Seeds, Disturbed, testing::Range(1U, 201U));

// Bursts that slow down one PU or both, reported by the system or not. Wherever they occur, separate PUs are
// never judged as siblings.
TEST_P(Disturbed, PairsThatAreApartAreNoSiblings) {
  std::mt19937 random(GetParam());
  const auto uniform = [&](double from, double to) {
    return std::uniform_real_distribution(from, to)(random);
  };
  const std::size_t steps = probe_steps().size();
  std::vector<double> first(steps, 1);
  std::vector<double> second(steps, 1);
  const int bursts = static_cast<int>(uniform(0, 6));
  for (int i = 0; i < bursts; ++i) {
    const auto begin = static_cast<std::size_t>(uniform(0, static_cast<double>(steps)));
    const auto length = static_cast<std::size_t>(uniform(1, static_cast<double>(steps) / 4));
    const int side = static_cast<int>(uniform(0, 3));
    for (std::size_t w = begin; w < std::min(steps, begin + length); ++w) {
      if (side != 0) first[w] *= uniform(1.2, 3);
      if (side != 1) second[w] *= uniform(1.2, 3);
    }
  }
  const auto judged = [&](double handover) {
    return judge(measurement_of(undisturbed(1.06), handover,
                                [&](std::size_t w, ProbeWindow& window) {
                                  window.first_speed /= first[w] * uniform(0.98, 1.03);
                                  window.second_speed /= second[w] * uniform(0.98, 1.03);
                                  window.disturbed = uniform(0, 1) < 0.05;
                                }))
        .state;
  };
  EXPECT_NE(judged(230), PairState::siblings);
  EXPECT_NE(judged(60), PairState::siblings);
}

TEST(PairHistory, CountsForHowLongAStateHasHeld) {
  PairHistory history;
  EXPECT_EQ(history.held(), 0);
  for (int i = 1; i <= 4; ++i) {
    history.add(PairState::apart);
    EXPECT_EQ(history.held(), i);
  }
  history.add(PairState::unclear);
  EXPECT_EQ(history.state(), PairState::apart);
  EXPECT_EQ(history.held(), 4) << "one probe that saw nothing changes nothing";
  history.add(PairState::siblings);
  EXPECT_EQ(history.state(), PairState::siblings);
  EXPECT_EQ(history.held(), 1);
  for (int i = 0; i < 3; ++i)
    history.add(PairState::unclear);
  EXPECT_EQ(history.state(), PairState::unclear);
  EXPECT_EQ(history.held(), 0);
}

ProbedPair pair_of(int first, int second, PairState state, int probes) {
  ProbedPair pair{
      .first = first, .second = second, .last = judge(measurement_of(undisturbed(1), 230)), .history = {}};
  for (int i = 0; i < probes; ++i)
    pair.history.add(state);
  return pair;
}

TEST(MeasuredSharing, IsTrustedOnceItHasHeldAndAgrees) {
  TopologyParts parts;
  parts.cores = {{0}, {1}};
  parts.hypervisor = "KVM";
  parts.architecture = "x86_64";
  const Topology topology(parts);
  EXPECT_FALSE(topology.trust().fpu_groups_reliable());
  const auto with = [&](PairState state, int probes) {
    return topology.with_measured(measured_sharing(topology, std::vector{pair_of(0, 1, state, probes)}))
        .trust();
  };
  EXPECT_FALSE(with(PairState::apart, 2).fpu_groups_reliable());
  EXPECT_TRUE(with(PairState::apart, 3).fpu_groups_reliable());
  EXPECT_TRUE(with(PairState::same_llc, 3).fpu_groups_reliable());
  EXPECT_FALSE(with(PairState::siblings, 9).fpu_groups_reliable()) << "reported as two cores";
  EXPECT_FALSE(with(PairState::unclear, 9).fpu_groups_reliable());
  EXPECT_THAT(with(PairState::apart, 3).sentences().front(),
              HasSubstr("stable for 3 probes: PUs share execution units as reported"));
  EXPECT_THAT(with(PairState::siblings, 1).sentences().front(), HasSubstr("otherwise than reported"));
}

TEST(MeasuredGroups, AreThoseOfSiblings) {
  const std::vector pairs{pair_of(0, 1, PairState::apart, 1), pair_of(0, 2, PairState::siblings, 1),
                          pair_of(2, 3, PairState::siblings, 1)};
  EXPECT_THAT(measured_groups({0, 1, 2, 3, 4}, pairs),
              testing::ElementsAre(CpuSet{0, 2, 3}, CpuSet{1}, CpuSet{4}));
}

TEST(PairsToProbe, AreAllOfAFewAndNeighboursOfMany) {
  EXPECT_THAT(pairs_to_probe(bulldozer(), {0, 1, 2}), SizeIs(3));
  EXPECT_THAT(pairs_to_probe(single_pu(), {0}), SizeIs(0));
  const Topology large = power7();
  const auto pairs = pairs_to_probe(large, large.cpus());
  EXPECT_THAT(pairs, SizeIs(8 * 3 + 7));
  std::set<int> seen;
  for (const auto& [first, second] : pairs) {
    EXPECT_LT(first, second);
    seen.insert({first, second});
  }
  EXPECT_THAT(seen, SizeIs(32)) << "every PU is in a pair";
}

TEST(ProbeReport, SaysWhatWasFound) {
  const Topology topology = two_pus();
  const std::vector pairs{pair_of(0, 1, PairState::apart, 2)};
  EXPECT_THAT(to_text(topology, pairs),
              AllOf(HasSubstr("CPU 0 and 1: apart for 2 probes."), HasSubstr("simd-int"),
                    HasSubstr("Measured, stable for 2 probes")));
  EXPECT_THAT(to_lines(pairs, 7), AllOf(HasSubstr("    7  CPU 0 1  apart"), HasSubstr("230 ns")));
  const auto json = to_json(topology, pairs, 7);
  EXPECT_EQ(json["pairs"][0]["state"], "apart");
  EXPECT_EQ(json["pairs"][0]["stable_probes"], 2);
  EXPECT_NEAR(json["pairs"][0]["slowdown"]["fp"]["fp"].get<double>(), 1.01, 1e-9);
  EXPECT_EQ(json["trust"]["fpu_groups_reliable"], false);
}

// On this machine, whatever its type and load: the probe measures something, changes no other thread's mask,
// and ends in time.
TEST(PairProbe, MeasuresAndLeavesTheCallingThreadWhereItWas) {
  const auto topology = Topology::live();
  ASSERT_TRUE(topology);
  const auto before = current_thread_affinity();
  ASSERT_TRUE(before);
  auto probe = PairProbe::make(*topology, 0);
  ASSERT_TRUE(probe) << probe.error().message;
  // On one PU both threads take turns. No window is usable, but the probe ends.
  const int first = before->lowest();
  for (const int second : {first, before->highest()}) {
    const auto measured = probe->measure(first, second, {});
    ASSERT_TRUE(measured) << measured.error().message;
    for (const ProbeWindow& window : measured->windows) {
      EXPECT_EQ(window.first_speed > 0, window.step.first.has_value());
      EXPECT_EQ(window.second_speed > 0, window.step.second.has_value());
      EXPECT_NE(window.step.first, dram) << "there was no memory for it";
    }
    if (first == second) {
      EXPECT_NE(judge(*measured).state, PairState::siblings);
    }
  }
  EXPECT_EQ(*current_thread_affinity(), *before);
}

TEST(PairProbe, SaysWhyWhereAPuCannotBeHad) {
  const auto topology = Topology::live();
  ASSERT_TRUE(topology);
  auto probe = PairProbe::make(*topology, 0);
  ASSERT_TRUE(probe);
  const int first = current_thread_affinity()->lowest();
  const auto measured = probe->measure(first, CpuSet::limit - 1, {});
  ASSERT_FALSE(measured);
  EXPECT_THAT(measured.error().message, HasSubstr(std::to_string(CpuSet::limit - 1)));
  expect_where_refused({SYS_sched_setaffinity}, [&] {
    const auto refused = probe->measure(first, first, {});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("CPU"));
  });
}

TEST(PairProbe, EndsWhenAskedTo) {
  const auto topology = Topology::live();
  ASSERT_TRUE(topology);
  auto probe = PairProbe::make(*topology, 0);
  ASSERT_TRUE(probe);
  std::stop_source stop;
  stop.request_stop();
  const CpuSet cpus = *current_thread_affinity();
  const auto measured = probe->measure(cpus.lowest(), cpus.highest(), stop.get_token());
  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.error().kind, ErrorKind::interrupted);
}

}  // namespace
}  // namespace millrace::machine
