// Identifies the loaded program and libraries, including their builds.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace {

struct LoadedObject {
  std::string file;      // file name without folder; empty for the program itself
  std::string build_id;  // hexadecimal, changes with the code; empty if linked without one
};

// The object that contains the code or data at this address.
[[nodiscard]] std::optional<LoadedObject> loaded_object_of(const void* address);
// The first object whose file name starts with `begin`, for example "libx264."
[[nodiscard]] std::optional<LoadedObject> loaded_object_named(std::string_view begin);

}  // namespace millrace
