// Lists the studies of `millrace study`, one line each.
#pragma once

#include <string>
#include <vector>

namespace millrace::cli {

// Grouped by paper: name, description, section or figure in the paper.
[[nodiscard]] std::string study_list();
// The names in it, and those that stand for several studies.
[[nodiscard]] std::vector<std::string> study_names();

}  // namespace millrace::cli
