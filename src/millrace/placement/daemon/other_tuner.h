// Detects other programs that place threads on this machine.
#pragma once

#include <filesystem>
#include <string>

namespace millrace::placement {

// Names, in one sentence, a loaded sched_ext scheduler, or numad run by root or this user; "" if there is
// none. Two tuners would undo each other's work for ever. system, processes: roots of sysfs and procfs.
[[nodiscard]] std::string other_tuner(const std::filesystem::path& system = "/sys",
                                      const std::filesystem::path& processes = "/proc");

}  // namespace millrace::placement
