// The verb `index`.
#pragma once

#include "similar/command/run_settings.h"

namespace millrace::similar {

// Default file name of the index.
inline constexpr const char* default_index = "similar.index";

// Adds the verb. Parsing it sets `action`.
void add_index_command(CLI::App& app, Action& action);

}  // namespace millrace::similar
