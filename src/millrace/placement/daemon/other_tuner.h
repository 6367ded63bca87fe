// Whether somebody else moves threads about on this machine.
#pragma once

#include <filesystem>
#include <string>

namespace millrace::placement {

// A sched_ext scheduler, or numad of root or of this user, in one sentence; "" where there is none: two of
// them would answer each other for ever. system, processes: where the kernel tells of itself.
[[nodiscard]] std::string other_tuner(const std::filesystem::path& system = "/sys",
                                      const std::filesystem::path& processes = "/proc");

}  // namespace millrace::placement
