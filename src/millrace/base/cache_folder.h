// Where programs of this user keep what can be made again.
#pragma once

#include "millrace/base/result.h"

#include <filesystem>

namespace millrace {

// millrace/ under the XDG cache directory: $XDG_CACHE_HOME where that is absolute, else $HOME/.cache. The
// folder need not exist yet; who writes there makes it. Failure where neither variable names a place. Reads
// the environment, so not beside a thread that changes it.
[[nodiscard]] Result<std::filesystem::path> cache_folder();

}  // namespace millrace
