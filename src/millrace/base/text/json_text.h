// Writes JSON safely under memory pressure.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace millrace {

// A JSON string literal; invalid UTF-8 is replaced. Text that is assembled from such strings may fail at any
// point like any other allocation. A partially built nlohmann::json may not: the destructor of an object or
// array allocates, and if that fails, the process ends.
[[nodiscard]] inline std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace millrace
