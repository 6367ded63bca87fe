#pragma once

#include <cstdint>
#include <filesystem>

namespace millrace::machine {

// Bytes of memory that this process can still take without pushing others out: what the kernel calls
// available, within the limits of its control groups and of RLIMIT_AS. `root`: "/" for this machine, a folder
// of files for a test. The largest number where nobody says.
[[nodiscard]] std::uint64_t usable_memory(const std::filesystem::path& root = "/");

}  // namespace millrace::machine
