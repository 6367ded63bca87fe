// Where programs of this user keep what can be made again, and what the user wrote for them. To be opened by
// open_private_folder().
#pragma once

#include "millrace/base/result.h"

#include <filesystem>

namespace millrace {

// millrace/ under the XDG cache directory: $XDG_CACHE_HOME where that is absolute, else $HOME/.cache. The
// folder need not exist yet; who writes there makes it. Failure where neither variable names a place. Reads
// the environment, so not beside a thread that changes it.
[[nodiscard]] Result<std::filesystem::path> cache_folder();

// The same for what the user writes for us: $XDG_CONFIG_HOME, else $HOME/.config. Empty where neither
// variable names a place.
[[nodiscard]] std::filesystem::path config_folder();

}  // namespace millrace
