// What `millrace study` can repeat: a line for each.
#pragma once

#include <string>

namespace millrace::cli {

// By paper: name, what it is, the paper's place of it.
[[nodiscard]] std::string study_list();

}  // namespace millrace::cli
