// What an error number of the system means.
#pragma once

#include <string>
#include <system_error>

namespace millrace {

// In words: "No such file or directory". Thread-safe.
[[nodiscard]] inline std::string system_reason(int error_number) {
  return std::generic_category().message(error_number);
}

}  // namespace millrace
