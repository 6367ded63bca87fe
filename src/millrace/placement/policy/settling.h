// Settling: main threads keep the masks that they had until their process has made its threads.
#pragma once

#include "millrace/placement/policy/policy.h"

#include <cstdint>
#include <vector>

namespace millrace::placement {

// How long a process must have been without births before its main thread gets a mask: programs take the
// number of CPUs from the mask of the thread that asks, mostly main before it makes others.
inline constexpr std::int64_t settling_ns = 200'000'000;

// A thread with what its process is like.
struct LivingThread {
  ThreadView view;
  bool alone = false;              // in its process
  std::int64_t last_birth_ns = 0;  // of its process
};

// Main threads that are alone get a mask only where the user named CPUs; with main_at_first_birth, others get
// theirs at once. Pure.
[[nodiscard]] bool may_have_mask(const LivingThread& thread, const Policy::Traits& traits, std::int64_t now);

// What `policy` says of `threads`, which are in order of birth, without the masks that they may not have yet.
// Pure where the policy is.
[[nodiscard]] std::vector<ThreadPlan> settled_plans(const Policy& policy, const Surroundings& surroundings,
                                                    const std::vector<LivingThread>& threads,
                                                    std::int64_t now);

}  // namespace millrace::placement
