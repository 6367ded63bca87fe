// What `model` and `simulate` are told in files, and numbers of cores in words.
#pragma once

#include "millrace/base/result.h"

#include <string>
#include <vector>

namespace millrace::cli {

// A whole file of at most 64 MiB. Usage error when it cannot be read.
[[nodiscard]] Result<std::string> read_text_file(const std::string& path);
// "4", "1,2,8", "1..64" (doubled from the first on, and the last) or "1..64/1" (in steps). Each from 1 to
// 1024.
[[nodiscard]] Result<std::vector<int>> counts_of(const std::string& text);

}  // namespace millrace::cli
