// Instruction-set levels that kernels are built for, and which of them the processor at hand can run.
#pragma once

#include "millrace/base/result.h"

#include <span>
#include <string_view>

namespace millrace::machine {

// Lowest first; a processor of one level runs the code of all levels below.
enum class Isa {
  baseline,  // what the compiler assumes of the architecture; the only level on any that is not x86
  sse41,     // SSE4.1
  avx2,      // AVX2, FMA and F16C
  avx512,    // AVX2 and AVX-512 F, CD, BW, DQ and VL
};

// All of them, lowest first.
[[nodiscard]] std::span<const Isa> all_isas();

[[nodiscard]] std::string_view name_of(Isa isa);

// The inverse of name_of. Usage error that lists the names.
[[nodiscard]] Result<Isa> parse_isa(std::string_view name);

// The highest level that the processor has and the operating system saves registers for. Cheap after the
// first call; any thread.
[[nodiscard]] Isa best_isa();

// Whether this process can run code of that level.
[[nodiscard]] inline bool can_run(Isa isa) { return isa <= best_isa(); }

}  // namespace millrace::machine
