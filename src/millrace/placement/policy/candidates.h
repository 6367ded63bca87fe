// Candidates: the plans that are worth a trial, given a machine and a program.
#pragma once

#include "millrace/machine/thread/scheduling_attributes.h"
#include "millrace/machine/topology/topology.h"
#include "millrace/placement/policy/plan.h"
#include "millrace/placement/policy/policy.h"

#include <span>
#include <vector>

namespace millrace::placement {

// Returns the plans that are worth a trial and need no privilege, most promising first: the batch class, long
// slices, and the mask policies that give distinct masks on `allowed`.
[[nodiscard]] std::vector<Plan> candidate_plans(const machine::Topology& topology,
                                                const machine::CpuSet& allowed, bool slices);

// True if the plan is of a kind that candidate_plans() returns on some machine: it needs no privilege and can
// be undone. Stored plans are checked with this before they are applied.
[[nodiscard]] bool may_be_candidate(const Plan& plan);

// A number of processes and threads (including main threads) that a program had at one time, and for how long
// in total.
struct Crowd {
  int processes = 0;
  int threads = 0;
  double seconds = 0;
  [[nodiscard]] friend bool operator==(const Crowd&, const Crowd&) = default;
};

// Returns those of `plans`, in order, that would change something for the threads of a program with these
// crowds. Left out are plans with the same effect as no plan, or as an earlier plan. For example, one-to-one
// masks allow every CPU once threads outnumber PUs, so a gain measured under them would be noise. Crowds that
// lasted less than a tenth of the program's time, and threads that are alone, do not count. own: class and
// slice of the threads as they are.
[[nodiscard]] std::vector<Plan> plans_that_differ(std::span<const Plan> plans,
                                                  const MachineState& machine_state,
                                                  const machine::SchedulingAttributes& own,
                                                  std::span<const Crowd> crowds);

}  // namespace millrace::placement
