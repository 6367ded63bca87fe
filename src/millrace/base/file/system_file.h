#pragma once

#include <optional>
#include <string>

namespace millrace {

// The content of a small file in /proc or /sys, whose size is not known in advance. Nothing if it cannot be
// read. A read can also fail after opening, because the thread has ended.
[[nodiscard]] std::optional<std::string> read_system_file(const std::string& path);

}  // namespace millrace
