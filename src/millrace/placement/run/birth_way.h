// BirthWay: how the births of a program are seen.
#pragma once

#include "millrace/placement/program/program_file.h"

#include <optional>
#include <string>
#include <string_view>

namespace millrace::placement {

// Best first. `any`: the first that works.
enum class BirthWay { any, ptrace, shim, polling, none };
// "auto", "ptrace", "shim", "poll", "none".
[[nodiscard]] std::string_view name_of(BirthWay way);
[[nodiscard]] std::optional<BirthWay> parse_birth_way(std::string_view name);

struct BirthChoice {
  BirthWay way = BirthWay::none;
  std::string reason;  // why not a better way; "" where it is the best, or was asked for
};
// For a program that is to be launched (null: nothing is known of it). no_tracing: why this process cannot
// trace; "" where it can, as far as is known.
[[nodiscard]] BirthChoice choose_birth_way(BirthWay asked, const ProgramFile* program,
                                           std::string_view no_tracing);

// What keeps a program from loading a shim; "" where nothing does. is_root: whoever starts it is.
[[nodiscard]] std::string_view no_shim_in(const ProgramFile& program, bool is_root);

}  // namespace millrace::placement
