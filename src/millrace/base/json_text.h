// JSON that is written while memory may run out.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace millrace {

// A string as JSON has it; what is not UTF-8 is replaced. Objects put together of such, as text, may fail at
// any moment like all else. A half made nlohmann::json may not: to take an object or array of it apart takes
// memory, in a destructor, and without any the process ends.
[[nodiscard]] inline std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace millrace
