// The code of a running program.
#pragma once

#include "millrace/intensity/decode/code_bytes.h"

#include <sys/types.h>

namespace millrace::intensity {

// The page of code at `address`, which it begins at, of the process that `thread` belongs to: from its
// memory, also what it has made while it runs. Where that may not be read (another user's process,
// kernel.yama.ptrace_scope), from the file that is mapped there. False where neither works.
[[nodiscard]] bool read_code_page(pid_t thread, std::uint64_t address, CodeBytes::Page& page);

}  // namespace millrace::intensity
