#pragma once

#include <string>
#include <string_view>

namespace millrace {

// The user's own text for an error message: in single quotes, cut after 40 characters, and always one line of
// printable ASCII (other bytes as \xNN), whatever it holds.
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace millrace
