// Filters of the caller's own, as millrace_pipeline_create_with takes them.
#pragma once

#include "millrace/base/result.h"
#include "millrace/image/filter/filter.h"

#include <string_view>
#include <vector>

namespace millrace::api {

// What millrace.h says of their JSON. Usage error that names the filter, or the place in the text.
[[nodiscard]] Result<std::vector<image::FilterRef>> read_own_filters(std::string_view json);

}  // namespace millrace::api
