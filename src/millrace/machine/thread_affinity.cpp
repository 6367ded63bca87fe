#include "millrace/machine/thread_affinity.h"

#include "millrace/base/system_reason.h"
#include "millrace/machine/affinity_mask.h"

#include <cerrno>
#include <tuple>

namespace millrace::machine {
Result<CpuSet> thread_affinity(pid_t thread) {
  const AffinityMask mask = mask_of_thread(thread);
  if (!mask.empty()) return to_cpu_set(mask);
  if (errno == ESRCH) return failure("thread {} is gone", thread);
  return failure("cannot read the thread's CPU affinity: {}", system_reason(errno));
}

Result<CpuSet> current_thread_affinity() { return thread_affinity(0); }

Result<CpuSet> bind_thread(pid_t thread, const CpuSet& cpus) {
  if (cpus.empty()) return usage_error("cannot bind a thread to no CPU at all; name at least one");
  if (!write_mask(thread, to_mask(cpus))) {
    if (errno == EINVAL)
      return usage_error("cannot bind a thread to CPU {}: not online or not in this process's cpuset",
                         cpus.to_string());
    if (errno == ESRCH) return failure("thread {} is gone", thread);
    return failure("cannot bind a thread to CPU {}: {}", cpus.to_string(), system_reason(errno));
  }
  return thread_affinity(thread);
}

Result<CpuSet> bind_current_thread(const CpuSet& cpus) { return bind_thread(0, cpus); }

AffinityGuard::AffinityGuard() {
  if (auto mask = current_thread_affinity()) saved_ = std::move(*mask);
}

AffinityGuard::~AffinityGuard() {
  // Best effort: a cpuset that shrank meanwhile may refuse, and a destructor has nobody to tell.
  if (saved_) std::ignore = bind_current_thread(*saved_);
}

}  // namespace millrace::machine
