// Reads the caller's own filters for millrace_pipeline_create_with.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/image/filter/filter.h"

#include <string_view>
#include <vector>

namespace millrace::api {

// See millrace.h for the JSON. A usage error names the filter, or the position in the text.
[[nodiscard]] Result<std::vector<image::FilterRef>> read_own_filters(std::string_view json);

}  // namespace millrace::api
