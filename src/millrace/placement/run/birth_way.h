// BirthWay: how a program's births are observed.
#pragma once

#include "millrace/placement/program/program_file.h"

#include <optional>
#include <string>
#include <string_view>

namespace millrace::placement {

// Best first. `any`: the first that works.
enum class BirthWay { any, ptrace, polling, none };
// "auto", "ptrace", "poll", "none".
[[nodiscard]] std::string_view name_of(BirthWay way);
[[nodiscard]] std::optional<BirthWay> parse_birth_way(std::string_view name);

struct BirthChoice {
  BirthWay way = BirthWay::none;
  std::string reason;  // why a better way was not used; "" if it is the best or was requested
};
// Chooses for a program that will be launched (null: nothing is known of it). no_tracing: why this process
// cannot trace; "" if it can, as far as is known.
[[nodiscard]] BirthChoice choose_birth_way(BirthWay asked, const ProgramFile* program,
                                           std::string_view no_tracing);

}  // namespace millrace::placement
