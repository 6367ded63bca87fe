// The CPUs that a process may use whatever its affinity masks say: those of its cpuset that are online.
#pragma once

#include "millrace/base/export.h"
#include "millrace/machine/cpus/cpu_set.h"

#include <filesystem>

#include <sys/types.h>

namespace millrace::machine {

// As it is now. Empty where it is not known: the process is gone, or /sys cannot be read. root: "/" for this
// machine, a folder of files for a test.
[[nodiscard]] MILLRACE_EXPORT CpuSet open_cpus(pid_t process, const std::filesystem::path& root = "/");

// Of a control group, by the path of its folder.
[[nodiscard]] MILLRACE_EXPORT CpuSet open_cpus_of_group(const std::filesystem::path& folder);

// Every CPU that a kernel may know of: a thread with this mask has none of its own. What the kernel grants of
// it is what is open to the thread, and follows the cpuset from then on.
[[nodiscard]] MILLRACE_EXPORT const CpuSet& every_cpu();

}  // namespace millrace::machine
