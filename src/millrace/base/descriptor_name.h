#pragma once

#include <filesystem>
#include <optional>

namespace millrace {

// The descriptor of this process that a name like /dev/stdout or /dev/fd/3 leads to, if it does.
[[nodiscard]] std::optional<int> descriptor_named(std::filesystem::path name);

}  // namespace millrace
