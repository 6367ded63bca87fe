// Settling: a main thread keeps its mask until its process has made its threads.
#pragma once

#include "millrace/placement/policy/policy.h"

#include <cstdint>
#include <vector>

namespace millrace::placement {

// How long a process must go without births before its main thread gets a mask. Programs derive the number of
// CPUs from the mask of the thread that asks; usually main asks before it makes threads.
inline constexpr std::int64_t settling_ns = 200'000'000;

// A thread, with the facts about its process that decide on its mask.
struct LivingThread {
  ThreadView view;
  bool alone = false;              // it is the only thread of its process
  std::int64_t last_birth_ns = 0;  // of any thread in its process
};

// A main thread that is alone gets a mask only if the user named CPUs. With main_at_first_birth, main threads
// of multithreaded processes get theirs at once. Pure.
[[nodiscard]] bool may_have_mask(const LivingThread& thread, const Policy::Traits& traits, std::int64_t now);

// Returns the plans of `policy` for `threads`, which are in order of birth, without the masks that must wait.
// Pure if the policy is.
[[nodiscard]] std::vector<ThreadPlan> settled_plans(const Policy& policy, const MachineState& machine_state,
                                                    const std::vector<LivingThread>& threads,
                                                    std::int64_t now);

}  // namespace millrace::placement
