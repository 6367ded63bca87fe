// The CPUs on which the kernel lets the calling thread run: set, read back, restored.
#pragma once

#include "millrace/base/export.h"
#include "millrace/base/result.h"
#include "millrace/machine/cpus/cpu_set.h"

#include <optional>
#include <pthread.h>

#include <sys/types.h>

namespace millrace::machine {

// The calling thread's affinity mask. Where a filter refuses the system call it is read from /proc; failure
// where there is none either. Any thread may call it at any time.
[[nodiscard]] MILLRACE_EXPORT Result<CpuSet> current_thread_affinity();

// The mask of any thread by its number, 0 the calling thread. Failure when it is gone.
[[nodiscard]] MILLRACE_EXPORT Result<CpuSet> thread_affinity(pid_t thread);

// As bind_current_thread(), for any thread of this user; 0 the calling thread. Failure when it is gone or may
// not be changed.
[[nodiscard]] MILLRACE_EXPORT Result<CpuSet> bind_thread(pid_t thread, const CpuSet& cpus);

// The same for a thread of this process that nobody has joined yet, which may have ended: then nothing is
// done.
MILLRACE_EXPORT void bind_unjoined_thread(pthread_t thread, const CpuSet& cpus);

// Asks the kernel to run the calling thread on `cpus` alone and returns what it granted, read back after the
// call: the kernel silently drops CPUs that are offline or outside the thread's cpuset. Usage error when
// `cpus` is empty or when none of it can be granted; the mask is then what it was.
[[nodiscard]] MILLRACE_EXPORT Result<CpuSet> bind_current_thread(const CpuSet& cpus);

// Remembers the calling thread's affinity and gives it back on destruction, if it is another by then. To be
// made and destroyed on one and the same thread. When the mask could not be read at construction there is
// nothing to give back; `saved` says so.
class MILLRACE_EXPORT AffinityGuard {
 public:
  AffinityGuard();
  ~AffinityGuard();
  AffinityGuard(const AffinityGuard&) = delete;
  AffinityGuard& operator=(const AffinityGuard&) = delete;

  // The mask that will be restored.
  [[nodiscard]] const std::optional<CpuSet>& saved() const { return saved_; }

 private:
  std::optional<CpuSet> saved_;
};

}  // namespace millrace::machine
