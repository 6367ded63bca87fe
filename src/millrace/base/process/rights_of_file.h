// Detects privileges that come from the program's file instead of its user.
#pragma once

#include <string>

namespace millrace {

// Why this program must refuse to work, in one line; "" if it may run. A file with capabilities or a
// set-user-ID or set-group-ID bit would pass on privileges that its user lacks: the program runs policies and
// plug-ins, and modifies any process that it is told to. Ambient capabilities belong to the user and are
// allowed.
[[nodiscard]] std::string rights_of_file();

}  // namespace millrace
