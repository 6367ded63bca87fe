// The program and the libraries that this process has loaded, and what tells one build of them from another.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace {

struct LoadedObject {
  std::string file;      // without its folder; empty for the program itself
  std::string build_id;  // in hexadecimal, another one for other code; empty where it was linked without
};

// The one that holds the code or data of this address.
[[nodiscard]] std::optional<LoadedObject> loaded_object_of(const void* address);
// The first whose file's name begins like this: "libx264."
[[nodiscard]] std::optional<LoadedObject> loaded_object_named(std::string_view begin);

}  // namespace millrace
