#include "millrace/placement/run/birth_way.h"

#include <array>
#include <utility>

namespace millrace::placement {
namespace {

constexpr std::array<std::pair<BirthWay, std::string_view>, 4> ways = {{
    {BirthWay::any, "auto"},
    {BirthWay::ptrace, "ptrace"},
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

BirthChoice choose_birth_way(BirthWay asked, const ProgramFile* program, std::string_view no_tracing) {
  if (asked != BirthWay::any) return {asked, ""};
  if (program != nullptr && program->changes_user)
    return {BirthWay::polling, "the program changes its user, which tracing would prevent"};
  if (program != nullptr && program->sanitized)
    return {BirthWay::polling, "a sanitizer in the program traces it itself, at its end"};
  if (program != nullptr && program->traces) return {BirthWay::polling, "the program uses ptrace itself"};
  if (!no_tracing.empty()) return {BirthWay::polling, std::string(no_tracing)};
  return {BirthWay::ptrace, ""};
}

}  // namespace millrace::placement
