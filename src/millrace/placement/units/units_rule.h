// Our rule: who sits beside whom, by what threads use and what PUs share, over NUMA nodes, last-level caches
// and execution units in one measure. Pure; a step that somebody takes each second.
//
//   const UnitsGround ground = units_ground(topology, allowed);
//   UnitsStep step;
//   for (;;) step = by_units(step.state, ground, threads_now, now_ns());   // and give out step.masks
//
// Sought is the greatest sum of busy * log(speed) that model/contention predicts, less something for each
// thread that moves: threads that want the same are kept apart, those that share data together, near their
// memory. Threads that conflict with nobody are not touched, and nobody is where nothing is to be gained: the
// gain must be at least 2 % and twice its standard error, and masks hold for 3 s. A mask is all of a group of
// PUs that share units, so the kernel still chooses among them.
#pragma once

#include "millrace/machine/topology/topology.h"
#include "millrace/model/contention/topology_machine.h"
#include "millrace/placement/units/unit_thread.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace millrace::placement {

struct UnitsGround {
  model::TopologyMachine machine;
  bool reliable = false;  // which PUs share units is known (TopologyTrust::fpu_groups_reliable)
};

// Of the PUs in `allowed`, with what the topology's unit traits tell of sharing.
[[nodiscard]] UnitsGround units_ground(const machine::Topology& topology, const machine::CpuSet& allowed);
// The same with groups that were measured (machine/probe/pair_judgement.h), and whether they are stable.
[[nodiscard]] UnitsGround units_ground(const machine::Topology& topology, const machine::CpuSet& allowed,
                                       const std::vector<machine::CpuSet>& measured_groups, bool stable);

struct UnitsSettings {
  double least_gain = 0.02;               // of the geometric mean of the speeds
  double standard_errors = 2;             // of the gain
  double cost_of_move = 0.002;            // log speed, of a thread that gets another group
  std::int64_t dwell_ns = 3'000'000'000;  // from one change to the next
  std::int64_t least_samples = 20;        // fewer: nothing is known of the thread
  double least_busy = 0.05;
};

struct UnitsState {
  std::map<std::int64_t, machine::CpuSet> given;  // masks, by thread
  std::int64_t changed_ns = 0;                    // when they last changed; with none given, of no meaning
};

struct UnitsStep {
  UnitsState state;
  std::vector<machine::CpuSet> masks;  // of each thread, in their order; empty: what it was given
  double gain = 0;                     // predicted, of what would be best: 0.1 is 10 % faster
  double error = 0;                    // its standard error
  bool changed = false;                // the masks are others than before
  std::string reason;                  // one sentence
};

// Threads that may not use all of the ground are left alone.
[[nodiscard]] UnitsStep by_units(const UnitsState& before, const UnitsGround& ground,
                                 std::span<const UnitThread> threads, std::int64_t now_ns,
                                 const UnitsSettings& settings = {});

}  // namespace millrace::placement
