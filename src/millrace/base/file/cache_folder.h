// The user's folders for caches and settings. Open them with open_private_folder().
#pragma once

#include "millrace/base/error/result.h"

#include <filesystem>

namespace millrace {

// millrace/ under the XDG cache directory: $XDG_CACHE_HOME if that is absolute, else $HOME/.cache. The folder
// may not exist yet; code that writes there creates it. Fails if neither variable is usable or $HOME does not
// exist. Reads the environment, so no other thread may change it during the call.
[[nodiscard]] Result<std::filesystem::path> cache_folder();

// The same for the user's settings: $XDG_CONFIG_HOME, else $HOME/.config. Empty if neither variable is
// usable.
[[nodiscard]] std::filesystem::path config_folder();

}  // namespace millrace
