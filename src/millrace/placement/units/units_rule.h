// millrace's own rule for placing threads by what they use and what PUs share. It weighs NUMA nodes,
// last-level caches and execution units in one measure. Pure; call one step per second.
//
//   const UnitsGround ground = units_ground(topology, allowed);
//   UnitsStep step;
//   for (;;) step = by_units(step.state, ground, threads_now, now_ns());   // then apply step.masks
//
// It maximises the sum of busy * log(speed) that model/contention predicts, less a cost for each thread that
// moves. Threads that compete are kept apart; threads that share data are kept together, near their memory.
// Threads without a conflict are not touched. Nothing changes unless the gain is at least 2 % and twice its
// standard error, and masks hold for 3 s. A mask is a whole group of PUs that share units, so the kernel
// still chooses among them.
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
  bool reliable = false;  // whether it is known which PUs share units (TopologyTrust::fpu_groups_reliable)
};

// Describes the PUs in `allowed`, with sharing from the topology's unit traits.
[[nodiscard]] UnitsGround units_ground(const machine::Topology& topology, const machine::CpuSet& allowed);
// The same with measured groups (machine/probe/pair_judgement.h). stable: whether the measurements agree.
[[nodiscard]] UnitsGround units_ground(const machine::Topology& topology, const machine::CpuSet& allowed,
                                       const std::vector<machine::CpuSet>& measured_groups, bool stable);

struct UnitsSettings {
  double least_gain = 0.02;               // of the geometric mean of the speeds
  double standard_errors = 2;             // of the gain
  double cost_of_move = 0.002;            // in log speed, for a thread that moves to another group
  std::int64_t dwell_ns = 3'000'000'000;  // from one change to the next
  std::int64_t least_samples = 20;        // with fewer, a thread counts as unknown
  double least_busy = 0.05;
};

struct UnitsState {
  std::map<std::int64_t, machine::CpuSet> given;  // masks, by thread
  std::int64_t changed_ns = 0;                    // when they last changed; meaningless if none are given
};

struct UnitsStep {
  UnitsState state;
  std::vector<machine::CpuSet> masks;  // of each thread, in order; empty: the mask it was given
  double gain = 0;                     // predicted for the best placement: 0.1 is 10 % faster
  double error = 0;                    // its standard error
  bool changed = false;                // the masks differ from those before
  std::string reason;                  // one sentence
};

// Leaves threads alone that may not use all of the ground.
[[nodiscard]] UnitsStep by_units(const UnitsState& before, const UnitsGround& ground,
                                 std::span<const UnitThread> threads, std::int64_t now_ns,
                                 const UnitsSettings& settings = {});

}  // namespace millrace::placement
