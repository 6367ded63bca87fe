#pragma once

#include <cstdint>
#include <filesystem>

namespace millrace::machine {

// Bytes of memory that this process can still use without evicting others: the kernel's available memory,
// within the limits of control groups and RLIMIT_AS. Returns the maximum value if unknown. `root`: "/" for
// this machine, or a folder of files for a test.
[[nodiscard]] std::uint64_t usable_memory(const std::filesystem::path& root = "/");

}  // namespace millrace::machine
