// The verb `query`.
#pragma once

#include "similar/command/run_settings.h"

namespace millrace::similar {

// Adds the verb. Parsing it sets `action`.
void add_query_command(CLI::App& app, Action& action);

}  // namespace millrace::similar
