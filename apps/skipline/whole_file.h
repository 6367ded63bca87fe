// Files read and written as a whole.
#pragma once

#include "millrace/base/result.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace millrace::skipline {

// `path`, or standard input for "-". Failure that names the file; a usage error where there is none.
[[nodiscard]] Result<std::vector<std::byte>> read_file(const std::string& path);

// To `path`, or standard output for "-". A file has its name only when it is complete and flushed: it is
// written as path + ".part" first. Failure that names the file; nothing is left then.
[[nodiscard]] Status write_file(const std::string& path, std::span<const std::byte> bytes);

}  // namespace millrace::skipline
