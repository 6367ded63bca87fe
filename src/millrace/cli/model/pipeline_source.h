// Reads files for `model` and `simulate`, and parses lists of core counts.
#pragma once

#include "millrace/base/error/result.h"

#include <string>
#include <vector>

namespace millrace::cli {

// Reads a whole file of at most 64 MiB. Usage error if it cannot be read.
[[nodiscard]] Result<std::string> read_text_file(const std::string& path);
// "4", "1,2,8", "1..64" (doubling from the first, plus the last) or "1..64/1" (in steps). Each from 1 to
// 1024.
[[nodiscard]] Result<std::vector<int>> counts_of(const std::string& text);

}  // namespace millrace::cli
