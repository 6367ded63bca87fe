// Formats byte counts for people.
#pragma once

#include <string>

namespace millrace {

// Decimal units: "513.2 MB".
[[nodiscard]] std::string bytes_text(double bytes);

}  // namespace millrace
