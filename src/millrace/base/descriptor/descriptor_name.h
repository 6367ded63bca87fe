#pragma once

#include <filesystem>
#include <optional>

namespace millrace {

// The descriptor of this process that a path such as /dev/stdout or /dev/fd/3 refers to, if any.
[[nodiscard]] std::optional<int> descriptor_named(std::filesystem::path name);

}  // namespace millrace
