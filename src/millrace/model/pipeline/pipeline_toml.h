#pragma once

#include "millrace/base/error/result.h"
#include "millrace/model/pipeline/pipeline.h"

#include <string_view>

namespace millrace::model {

// Parses a pipeline from TOML. Each stage has a [[stage]] table with the words of pipeline_text.h as keys:
//
//   [[stage]]
//   name = "load"
//   kind = "serial"
//   time = "0.55ms"
//
// Further keys are cv, outputs, visits, batch, waits (true) and slowdown. Usage errors start with the file
// and line.
[[nodiscard]] Result<Pipeline> parse_pipeline_toml(std::string_view text, std::string_view file_name);

}  // namespace millrace::model
