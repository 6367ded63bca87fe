// Answers the questions of `millrace model` and `millrace simulate`, JSON in and JSON out.
#pragma once

#include "millrace/base/error/result.h"

#include <functional>
#include <string>
#include <string_view>

namespace millrace::api {

// See millrace_predict and millrace_simulate in millrace.h. A usage error names the invalid member. This
// thread polls `stops` and ends the call once it returns true; it may be empty.
[[nodiscard]] Result<std::string> predict(std::string_view question, const std::function<bool()>& stops);
[[nodiscard]] Result<std::string> simulate(std::string_view question, const std::function<bool()>& stops);

}  // namespace millrace::api
