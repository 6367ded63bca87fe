// Describes an error number of the system.
#pragma once

#include <string>
#include <system_error>

namespace millrace {

// For example "No such file or directory". Thread-safe.
[[nodiscard]] inline std::string system_reason(int error_number) {
  return std::generic_category().message(error_number);
}

}  // namespace millrace
