// Where `model` and `simulate` get their pipeline from.
#pragma once

#include "millrace/base/result.h"
#include "millrace/model/pipeline/pipeline.h"

#include <string>
#include <vector>

namespace millrace::cli {

// A whole file of at most 64 MiB. Usage error when it cannot be read.
[[nodiscard]] Result<std::string> read_text_file(const std::string& path);
// A pipeline in words, or the name of a file that ends in .toml.
[[nodiscard]] Result<model::Pipeline> pipeline_of(const std::string& text_or_file);
// "4", "1,2,8", "1..64" (doubled from the first on, and the last) or "1..64/1" (in steps). Each from 1 to
// 1024.
[[nodiscard]] Result<std::vector<int>> counts_of(const std::string& text);

}  // namespace millrace::cli
