// The verb `index`.
#pragma once

#include "similar/command/run_settings.h"

namespace millrace::similar {

// Where the index is unless told otherwise.
inline constexpr const char* default_index = "similar.index";

// Adds the verb; `action` becomes what it does when its words are there.
void add_index_command(CLI::App& app, Action& action);

}  // namespace millrace::similar
