// Unit traits as a TOML file:
//
//   family = "amd-bulldozer"
//   title = "AMD family 15h (Bulldozer)"
//   explanation = "the two integer cores of a module share one floating-point unit"
//   typical = "pack:1 l3:1 l2:4 l1i:1 core:2 l1d:1 pu:1"   # example machine for simulations; optional
//
//   [match]                                    # all given keys must match, each by one entry of its list
//   vendor = ["AuthenticAMD"]
//   family_number = [21]                       # also: architecture, model (shell patterns)
//
//   [units]                                    # shared_by: pu, l1, core, module, l2, llc, node, package
//   int = {shared_by = "pu", units = 2}
//   fp = {shared_by = "module", units = 2}
//   simd = {shared_by = "module", units = 2}
//
//   [caches]                                   # if the machine does not report it
//   l2 = "module"
//
//   [slowdown.module]                          # next to one thread of the same module
//   fp = {fp = 1.9, simd = 1.5}
//
//   [counters]
//   interval = 1                               # s
//   events = {cycles = "PERF_COUNT_HW_CPU_CYCLES", empty = "CYCLES_FPU_EMPTY"}   # libpfm4 names
//   usage = {fp = "1 - empty / cycles"}
//   records = {}                               # shown only, not used for decisions
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/machine/units/unit_traits.h"

#include <string_view>

namespace millrace::machine {

// Checks that every key is known, no unit is shared by fewer PUs than integer units are, and each event in a
// formula is declared. Usage error in one line with file, line, key and problem. The result's `from` is
// `file_name`.
[[nodiscard]] Result<UnitTraits> parse_unit_traits(std::string_view text, std::string_view file_name);

// Parses only the [match] section, which is enough for most files and takes a tenth of the time. Requires the
// layout of the built-in files: `[match]` on its own line, and no string with a line that begins with a
// bracket. Usage errors as above, with line numbers relative to the section.
[[nodiscard]] Result<FamilyMatch> parse_family_match(std::string_view text, std::string_view file_name);

}  // namespace millrace::machine
