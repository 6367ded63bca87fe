// Rights that a program has of its file, and not of the user who started it.
#pragma once

#include <string>

namespace millrace {

// Why this program must not do anything for its user, in one line; "" where it may: its file has capabilities
// or a set-user-ID or set-group-ID bit, so it would hand out rights that the user has not (policies and
// plug-ins run in it, and it changes whatever process it is told). Ambient capabilities are the user's own.
[[nodiscard]] std::string rights_of_file();

}  // namespace millrace
