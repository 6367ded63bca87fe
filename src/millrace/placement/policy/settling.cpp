#include "millrace/placement/policy/settling.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace millrace::placement {

bool may_have_mask(const LivingThread& thread, const Policy::Traits& traits, std::int64_t now) {
  if (!thread.view.main) return true;
  if (traits.main_at_first_birth) return !thread.alone;
  if (now - thread.last_birth_ns < settling_ns) return false;
  return !thread.alone || traits.explicit_masks;
}

std::vector<ThreadPlan> settled_plans(const Policy& policy, const MachineState& machine_state,
                                      const std::vector<LivingThread>& threads, std::int64_t now) {
  std::vector<ThreadView> views;
  views.reserve(threads.size());
  std::ranges::transform(threads, std::back_inserter(views), &LivingThread::view);
  std::vector<ThreadPlan> plans = policy(machine_state, views);
  plans.resize(threads.size());
  for (std::size_t i = 0; i < threads.size(); ++i)
    if (!may_have_mask(threads[i], policy.traits(), now)) plans[i].mask = {};
  return plans;
}

}  // namespace millrace::placement
