// Text of unknown origin, such as a file's name, made fit for a terminal, a log or a page.
#pragma once

#include <string>
#include <string_view>

namespace millrace {

// The same text on one line, where nothing can act on a terminal or change how the rest reads: control
// characters, those that turn the direction of writing, and what is no UTF-8 come as \xNN, byte by byte. All
// other UTF-8 stays as it is; backslashes too, so that the way back is not always unique.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace millrace
