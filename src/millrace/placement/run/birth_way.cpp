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

std::string_view no_shim_in(const ProgramFile& program, bool is_root) {
  if (!program.dynamic) return "a static program";
  if (!program.glibc) return "a program of another C library than glibc";
  return program.changes_user && !is_root ? "a program that changes its user" : "";
}

BirthChoice choose_birth_way(BirthWay asked, const ProgramFile* program, std::string_view no_tracing) {
  if (asked == BirthWay::shim && program != nullptr && program->sanitized)
    return {BirthWay::polling, "a sanitizer in the program wants to be loaded before a shim"};
  if (asked != BirthWay::any) return {asked, ""};
  if (program != nullptr && program->changes_user)
    return {BirthWay::polling, "the program changes its user, which tracing would prevent"};
  if (program != nullptr && program->sanitized)
    return {BirthWay::polling, "a sanitizer in the program traces it itself, at its end"};
  if (program != nullptr && program->traces && program->glibc)
    return {BirthWay::shim, "the program uses ptrace itself"};
  if (!no_tracing.empty())
    return {program != nullptr && program->glibc ? BirthWay::shim : BirthWay::polling,
            std::string(no_tracing)};
  return {BirthWay::ptrace, ""};
}

}  // namespace millrace::placement
