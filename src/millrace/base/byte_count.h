// Numbers of bytes, for people.
#pragma once

#include <string>

namespace millrace {

// "513.2 MB": in units of a thousand.
[[nodiscard]] std::string bytes_text(double bytes);

}  // namespace millrace
