// What `millrace model` and `millrace simulate` answer, from JSON to JSON.
#pragma once

#include "millrace/base/result.h"

#include <string>
#include <string_view>

namespace millrace::api {

// As millrace.h says of millrace_predict and millrace_simulate. Usage error that names the member of the
// question that cannot be.
[[nodiscard]] Result<std::string> predict(std::string_view question);
[[nodiscard]] Result<std::string> simulate(std::string_view question);

}  // namespace millrace::api
