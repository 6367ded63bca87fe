#pragma once

#include "millrace/model/pipeline/pipeline_text.h"

#include <string_view>

namespace millrace::model {

// Parses a pipeline that is known to be well-formed.
inline Pipeline pipeline(std::string_view text) { return parse_pipeline_text(text).value(); }

}  // namespace millrace::model
