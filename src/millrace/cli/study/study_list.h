// Lists the studies of `millrace study`, one line each.
#pragma once

#include <string>

namespace millrace::cli {

// Grouped by paper: name, description, section or figure in the paper.
[[nodiscard]] std::string study_list();

}  // namespace millrace::cli
