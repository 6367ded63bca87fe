// The CPUs available to a process regardless of its affinity masks: the online CPUs of its cpuset.
#pragma once

#include "millrace/base/error/export.h"
#include "millrace/machine/cpus/cpu_set.h"

#include <filesystem>

#include <sys/types.h>

namespace millrace::machine {

// Reads the current state. Empty if it is unknown, because the process is gone or /sys is unreadable. root:
// "/" for this machine, or a folder of files for a test.
[[nodiscard]] MILLRACE_EXPORT CpuSet open_cpus(pid_t process, const std::filesystem::path& root = "/");

// The same for a control group, given its folder.
[[nodiscard]] MILLRACE_EXPORT CpuSet open_cpus_of_group(const std::filesystem::path& folder);

// A thread's affinity mask together with CPUs that are offline, or are going offline or coming online at this
// moment. thread_affinity() leaves these out, because the scheduler does not use them. A CPU that is going
// offline is missing there while it is still open. Empty if /proc is unreadable or the thread is gone.
[[nodiscard]] MILLRACE_EXPORT CpuSet whole_mask(pid_t thread);

// Every CPU number that a kernel may have. Setting this mask removes a thread's own restriction: the kernel
// grants every CPU in the cpuset and follows later changes of the cpuset.
[[nodiscard]] MILLRACE_EXPORT const CpuSet& every_cpu();

}  // namespace millrace::machine
