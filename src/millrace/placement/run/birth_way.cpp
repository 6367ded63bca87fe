#include "millrace/placement/run/birth_way.h"

#include <array>
#include <utility>

namespace millrace::placement {
namespace {

constexpr std::array<std::pair<BirthWay, std::string_view>, 5> ways = {{
    {BirthWay::any, "auto"},
    {BirthWay::ptrace, "ptrace"},
    {BirthWay::shim, "shim"},
    {BirthWay::polling, "poll"},
    {BirthWay::none, "none"},
}};

}  // namespace

std::string_view name_of(BirthWay way) {
  for (const auto& [known, name] : ways)
    if (known == way) return name;
  return "none";
}

std::optional<BirthWay> parse_birth_way(std::string_view name) {
  for (const auto& [way, known] : ways)
    if (known == name) return way;
  return std::nullopt;
}

BirthChoice choose_birth_way(BirthWay asked, const ProgramFile* program, bool traced) {
  if (asked == BirthWay::shim && program != nullptr && program->sanitized)
    return {BirthWay::polling, "a sanitizer in the program wants to be loaded before a shim"};
  if (asked != BirthWay::any) return {asked, ""};
  if (program != nullptr && program->changes_user)
    return {BirthWay::polling, "the program changes its user, which tracing would prevent"};
  if (program != nullptr && program->sanitized)
    return {BirthWay::polling, "a sanitizer in the program traces it itself, at its end"};
  if (program != nullptr && program->traces && program->dynamic)
    return {BirthWay::shim, "the program uses ptrace itself"};
  // Followed by its tracer, children of this process would have two.
  if (traced)
    return {program != nullptr && program->dynamic ? BirthWay::shim : BirthWay::polling,
            "millrace itself is being traced"};
  return {BirthWay::ptrace, ""};
}

}  // namespace millrace::placement
