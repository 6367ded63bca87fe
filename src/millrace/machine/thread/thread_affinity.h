// The CPUs on which the kernel may run a thread: set, read back and restore.
#pragma once

#include "millrace/base/error/export.h"
#include "millrace/base/error/result.h"
#include "millrace/machine/cpus/cpu_set.h"

#include <optional>
#include <pthread.h>

#include <sys/types.h>

namespace millrace::machine {

// The calling thread's affinity mask. If a filter refuses the system call, the mask is read from /proc; fails
// without that too. Thread-safe.
[[nodiscard]] MILLRACE_EXPORT Result<CpuSet> current_thread_affinity();

// The mask of any thread by thread ID; 0 is the calling thread. Fails if the thread is gone.
[[nodiscard]] MILLRACE_EXPORT Result<CpuSet> thread_affinity(pid_t thread);

// Like bind_current_thread(), for any thread of this user; 0 is the calling thread. Fails if the thread is
// gone or must not be changed.
[[nodiscard]] MILLRACE_EXPORT Result<CpuSet> bind_thread(pid_t thread, const CpuSet& cpus);

// The same for a thread of this process that has not been joined yet. Does nothing if the thread has ended.
MILLRACE_EXPORT void bind_unjoined_thread(pthread_t thread, const CpuSet& cpus);

// Pins the calling thread to `cpus` and returns the mask that the kernel granted. The kernel silently drops
// CPUs that are offline or outside the cpuset. Usage error if `cpus` is empty or no CPU can be granted; the
// mask is then unchanged.
[[nodiscard]] MILLRACE_EXPORT Result<CpuSet> bind_current_thread(const CpuSet& cpus);

// Saves the calling thread's affinity and restores it on destruction if it has changed. Construct and destroy
// it on the same thread. If the mask cannot be read at construction, nothing is restored and `saved` is
// empty.
class MILLRACE_EXPORT AffinityGuard {
 public:
  AffinityGuard();
  ~AffinityGuard();
  AffinityGuard(const AffinityGuard&) = delete;
  AffinityGuard& operator=(const AffinityGuard&) = delete;

  // The mask to restore.
  [[nodiscard]] const std::optional<CpuSet>& saved() const { return saved_; }

 private:
  std::optional<CpuSet> saved_;
};

}  // namespace millrace::machine
