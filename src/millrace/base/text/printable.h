// Makes untrusted text, such as a file name, safe for a terminal, a log or a page.
#pragma once

#include <string>
#include <string_view>

namespace millrace {

// Returns the text on one line that cannot control a terminal or change how other text reads. Control
// characters, bidirectional formatting characters and invalid UTF-8 become \xNN per byte. All other UTF-8 is
// unchanged. Backslashes are not escaped, so the mapping is not always reversible.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace millrace
