#pragma once

#include <optional>
#include <string>

namespace millrace {

// What a small file of /proc or /sys says, whose size nobody knows beforehand; nothing where it cannot be
// read, which may turn out after it was opened: its thread has ended.
[[nodiscard]] std::optional<std::string> read_system_file(const std::string& path);

}  // namespace millrace
