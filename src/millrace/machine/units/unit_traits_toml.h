// Unit traits as a TOML file:
//
//   family = "amd-bulldozer"
//   title = "AMD family 15h (Bulldozer)"
//   explanation = "the two integer cores of a module share one floating-point unit"
//   typical = "pack:1 l3:1 l2:4 l1i:1 core:2 l1d:1 pu:1"   # a machine, for simulations; may be left out
//
//   [match]                                    # whose it is; all that is said must fit, one of each list
//   vendor = ["AuthenticAMD"]
//   family_number = [21]                       # also: architecture, model (shell patterns)
//
//   [units]                                    # shared_by: pu, l1, core, module, l2, llc, node, package
//   int = {shared_by = "pu", units = 2}
//   fp = {shared_by = "module", units = 2}
//   simd = {shared_by = "module", units = 2}
//
//   [caches]                                   # where the machine does not say so itself
//   l2 = "module"
//
//   [slowdown.module]                          # beside one thread of the same module
//   fp = {fp = 1.9, simd = 1.5}
//
//   [counters]
//   interval = 1                               # s
//   events = {cycles = "PERF_COUNT_HW_CPU_CYCLES", empty = "CYCLES_FPU_EMPTY"}   # names of libpfm4
//   usage = {fp = "1 - empty / cycles"}
//   records = {}                               # shown, not decided by
#pragma once

#include "millrace/base/result.h"
#include "millrace/machine/units/unit_traits.h"

#include <string_view>

namespace millrace::machine {

// Checked: nothing unknown, no unit shared by fewer PUs than integer units are, each event of a formula
// named. Usage error in one line that names the file, the line, the key and what is wrong with it. `from` of
// the result is `file_name`.
[[nodiscard]] Result<UnitTraits> parse_unit_traits(std::string_view text, std::string_view file_name);

// The [match] of such a file alone, which is all that most of them are asked for: a tenth of the time. Of a
// file as those of this program are: `[match]` on a line of its own, and no string with a line that begins
// with a bracket. Usage error as above, with lines counted from there.
[[nodiscard]] Result<FamilyMatch> parse_family_match(std::string_view text, std::string_view file_name);

}  // namespace millrace::machine
