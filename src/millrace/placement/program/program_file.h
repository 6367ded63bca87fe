// ProgramFile: what the file of a program tells before it runs: how births in it can be seen, and who it is.
#pragma once

#include "millrace/base/result.h"

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace millrace::placement {

struct ProgramFile {
  std::filesystem::path path;  // as it will be executed, links resolved
  bool script = false;         // begins with "#!"; the rest is then of its interpreter
  bool dynamic = false;        // loads shared libraries
  bool glibc = false;   // by glibc's loader: a library that is preloaded (a shim) finds what it is built for
  bool traces = false;  // calls ptrace itself, as debuggers do; cannot be known of static programs
  bool sanitized =
      false;            // built with a sanitizer whose check for leaks traces the program itself, at its end
  bool narrow = false;  // of 32 bits; nothing else is known of it then
  bool changes_user = false;  // set-user-ID, set-group-ID or file capabilities
  std::string build_id;       // hexadecimal; "" where it has none
  std::uintmax_t size_bytes = 0;
};

// Looks `command` up as a shell does, in $PATH unless it holds a '/'. Usage error when it is missing, no
// program.
[[nodiscard]] Result<ProgramFile> inspect_program(const std::string& command);

// What an ELF file tells: narrow, dynamic, glibc, traces, sanitized, build_id. Failure for what is no ELF
// file or is damaged. Never reads beyond `bytes`.
[[nodiscard]] Result<ProgramFile> inspect_elf(std::span<const std::byte> bytes);

}  // namespace millrace::placement
