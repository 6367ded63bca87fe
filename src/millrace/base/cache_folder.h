// Where programs of this user keep what can be made again.
#pragma once

#include "millrace/base/result.h"

#include <filesystem>

namespace millrace {

// millrace/ under the XDG cache directory: $XDG_CACHE_HOME where that is absolute, else $HOME/.cache. The
// folder need not exist yet; who writes there makes it. Failure where neither variable names a place. Reads
// the environment, so not beside a thread that changes it.
[[nodiscard]] Result<std::filesystem::path> cache_folder();

// Makes the folder, for this user alone, and those above it that are missing. Not where the nearest that is
// there belongs to another user and this is root: under sudo, which may keep HOME, it would be root's in that
// user's home for good. Whether it is there now; whose it is remains to be asked.
bool make_private_folder(const std::filesystem::path& folder);

}  // namespace millrace
