// JSON for people and programs, in a file.
#pragma once

#include "millrace/base/whole_file.h"

#include <string_view>

#include <nlohmann/json.hpp>

namespace millrace {

// Indented by two; what is not UTF-8 in strings (names of files are bytes) is replaced. To a file, as a whole
// or not at all, or to standard output for "-".
template <class Json>
[[nodiscard]] Status write_json(const Json& json, std::string_view path, Overwrite overwrite) {
  return write_whole(path, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n",
                     {.overwrite = overwrite, .durable = false});
}

}  // namespace millrace
