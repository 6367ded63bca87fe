// The page of what a daemon watches: programs, what their threads use, who sits beside whom, and why.
#pragma once

#include "millrace/base/result.h"

#include <string>

#include <nlohmann/json.hpp>

namespace millrace::report {

// HTML in one file that needs nothing else, neither a network nor a script, of what the daemon answered to
// Status with its threads. Well-formed XML.
[[nodiscard]] std::string units_page(const nlohmann::json& status);

}  // namespace millrace::report
