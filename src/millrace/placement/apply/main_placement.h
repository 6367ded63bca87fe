// Main placement: when a main thread gets its mask, and how long it keeps it until its first thread is seen.
// Pure.
//
// Programs derive the number of CPUs from the mask of the thread that asks; usually main asks before it makes
// threads. So a main thread keeps its mask until its process has settled (policy/settling.h) or, if the
// policy says so, makes its first thread.
#pragma once

#include "millrace/placement/apply/process_tree.h"
#include "millrace/placement/policy/policy.h"
#include "millrace/placement/policy/settling.h"

#include <cstdint>

namespace millrace::placement {

// True if `thread` is the main thread, has no other beside it, and may be placed as it makes its first.
[[nodiscard]] inline bool makes_its_first(const FollowedProcess& process, const FollowedThread& thread,
                                          const Policy::Traits& traits) {
  return traits.main_at_first_birth && thread.main && process.threads.size() == 1 &&
         !process.left_alone.contains(thread.state.number);
}

// Returns `plan` or, for a main thread in its place, the plan with the mask that it has. Main has its mask
// before its first thread becomes visible, and as a lone thread it would be given back its old mask. So it
// keeps its place for settling_ns, by which time that thread is seen.
[[nodiscard]] inline ThreadPlan kept_in_place(const FollowedProcess& process, const FollowedThread& thread,
                                              ThreadPlan plan, const Policy::Traits& traits,
                                              std::int64_t now) {
  if (traits.main_at_first_birth && plan.mask.empty() && process.threads.size() == 1 && thread.in_place_ns &&
      now - *thread.in_place_ns < settling_ns)
    plan.mask = thread.wanted.mask;
  return plan;
}

}  // namespace millrace::placement
