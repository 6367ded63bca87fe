// Reads the code of a running program.
#pragma once

#include "millrace/intensity/decode/code_bytes.h"

#include <sys/types.h>

namespace millrace::intensity {

// Reads the page of code that begins at `address`, of the process of `thread`. It reads the process's memory,
// which includes generated code. If that is not permitted (another user's process, kernel.yama.ptrace_scope),
// it reads the mapped file. Returns false if neither works.
[[nodiscard]] bool read_code_page(pid_t thread, std::uint64_t address, CodeBytes::Page& page);

}  // namespace millrace::intensity
