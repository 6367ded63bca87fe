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
// For a program that is to be launched (null: nothing is known of it). traced: this process itself is.
[[nodiscard]] BirthChoice choose_birth_way(BirthWay asked, const ProgramFile* program, bool traced);

}  // namespace millrace::placement
