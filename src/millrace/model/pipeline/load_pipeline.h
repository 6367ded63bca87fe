// Loads a pipeline from text or from a file.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/model/pipeline/pipeline.h"

#include <string>

namespace millrace::model {

// Takes a pipeline in words (pipeline_text.h), or the name of a file of at most 64 MiB that ends in .toml
// (pipeline_toml.h). Usage errors have one line each.
[[nodiscard]] Result<Pipeline> load_pipeline(const std::string& text_or_file);

}  // namespace millrace::model
