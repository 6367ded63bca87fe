// Writes JSON for people and programs to a file.
#pragma once

#include "millrace/base/file/whole_file.h"

#include <string_view>

#include <nlohmann/json.hpp>

namespace millrace {

// Indented by two spaces. Strings such as file names may contain invalid UTF-8, which is replaced. Writes the
// file completely or not at all; "-" is standard output.
template <class Json>
[[nodiscard]] Status write_json(const Json& json, std::string_view path, Overwrite overwrite) {
  return write_whole(path, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n",
                     {.overwrite = overwrite, .durable = false});
}

}  // namespace millrace
