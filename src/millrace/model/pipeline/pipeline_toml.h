#pragma once

#include "millrace/base/result.h"
#include "millrace/model/pipeline/pipeline.h"

#include <string_view>

namespace millrace::model {

// A pipeline from TOML, a [[stage]] table for each stage with the words of pipeline_text.h as keys:
//
//   [[stage]]
//   name = "load"
//   kind = "serial"
//   time = "0.55ms"
//
// and further cv, outputs, visits, batch, waits (true), slowdown. Usage error as "file:line: ...".
[[nodiscard]] Result<Pipeline> parse_pipeline_toml(std::string_view text, std::string_view file_name);

}  // namespace millrace::model
