// ProgramFile: facts from a program's file before it runs: its identity, and how its births can be observed.
#pragma once

#include "millrace/base/error/result.h"

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace millrace::placement {

struct ProgramFile {
  std::filesystem::path path;  // as it will be executed, with links resolved
  bool script = false;         // begins with "#!"; the next six members then describe its interpreter
  bool dynamic = false;        // loads shared libraries
  bool glibc = false;          // uses glibc's loader, so the mask library finds the libc it is built for
  bool traces = false;         // calls ptrace itself, as debuggers do; not known for static programs
  bool sanitized = false;      // built with a sanitizer whose leak check traces the program itself at its end
  bool narrow = false;         // 32-bit; nothing else is known then
  bool changes_user = false;   // set-user-ID, set-group-ID or file capabilities
  std::string build_id;        // hexadecimal; "" if it has none
  std::uintmax_t size_bytes = 0;
};

// Finds `command` as a shell does, in $PATH unless it contains a '/'. Returns a usage error if it is missing
// or not a program.
[[nodiscard]] Result<ProgramFile> inspect_program(const std::string& command);

// Reads these facts from an ELF file: narrow, dynamic, glibc, traces, sanitized, build_id. Fails if the file
// is damaged or not ELF. Never reads beyond `bytes`.
[[nodiscard]] Result<ProgramFile> inspect_elf(std::span<const std::byte> bytes);

}  // namespace millrace::placement
