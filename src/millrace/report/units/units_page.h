// The page of a daemon: its programs, the units that their threads use, their placement and the reasons.
#pragma once

#include "millrace/base/error/result.h"

#include <string>

#include <nlohmann/json.hpp>

namespace millrace::report {

// A self-contained HTML file without network access or scripts, from the daemon's answer to Status with
// threads. Well-formed XML.
[[nodiscard]] std::string units_page(const nlohmann::json& status);

}  // namespace millrace::report
