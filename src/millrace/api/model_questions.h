// Answers the questions of `millrace model` and `millrace simulate`, JSON in and JSON out.
#pragma once

#include "millrace/base/result.h"

#include <string>
#include <string_view>

namespace millrace::api {

// See millrace_predict and millrace_simulate in millrace.h. A usage error names the invalid member.
[[nodiscard]] Result<std::string> predict(std::string_view question);
[[nodiscard]] Result<std::string> simulate(std::string_view question);

}  // namespace millrace::api
