// Candidates: which plans are worth a trial, on a machine and for a program.
#pragma once

#include "millrace/machine/thread/scheduling_attributes.h"
#include "millrace/machine/topology/topology.h"
#include "millrace/placement/policy/plan.h"
#include "millrace/placement/policy/policy.h"

#include <span>
#include <vector>

namespace millrace::placement {

// Candidates that are worth a trial without privilege on a machine: the class batch, long slices, and the
// mask policies that differ on `allowed`. The most promising in front.
[[nodiscard]] std::vector<Plan> candidate_plans(const machine::Topology& topology,
                                                const machine::CpuSet& allowed, bool slices);

// Whether a plan is of the kind that candidates are, on whatever machine: none takes or needs a privilege,
// and all can be undone. What was stored is taken for no more than that.
[[nodiscard]] bool may_be_candidate(const Plan& plan);

// How many processes and threads, main ones included, a program had at once, and for how long in all.
struct Crowd {
  int processes = 0;
  int threads = 0;
  double seconds = 0;
  [[nodiscard]] friend bool operator==(const Crowd&, const Crowd&) = default;
};

// Those of `plans`, in their order, under which the threads of a program that had these crowds get something
// else than they have, and than a plan before it gives them. Masks of one-to-one, for example, are
// everybody's where threads outnumber PUs: a run under them is a run of the untouched program, and a gain of
// theirs noise. Crowds of less than a tenth of the program's time do not count, nor does a thread that is
// alone. own: class and slice of the threads as they are.
[[nodiscard]] std::vector<Plan> plans_that_differ(std::span<const Plan> plans,
                                                  const Surroundings& surroundings,
                                                  const machine::SchedulingAttributes& own,
                                                  std::span<const Crowd> crowds);

}  // namespace millrace::placement
