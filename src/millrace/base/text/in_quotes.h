#pragma once

#include <string>
#include <string_view>

namespace millrace {

// Quotes the user's text for an error message: single quotes, truncated after 40 characters. The result is
// always one line of printable ASCII; other bytes become \xNN.
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace millrace
