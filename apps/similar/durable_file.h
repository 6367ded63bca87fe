// Files that are either whole or not there.
#pragma once

#include "millrace/base/result.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace millrace::similar {

// The whole file; none where there is no such file. Failure that names the file for any other reason,
// a folder included.
[[nodiscard]] Result<std::optional<std::vector<std::byte>>> read_file(const std::string& path);

// Puts `bytes` at `path`: into a file beside it first (path + ".new"), which is flushed to the disk and then
// given the name, so that a kill or a power failure at any moment leaves what was there before or all of the
// new. One writer of a path at a time. Failure that names the file; nothing is left beside it then.
[[nodiscard]] Status write_file(const std::string& path, std::span<const std::byte> bytes);

}  // namespace millrace::similar
