// Instruction-set levels that kernels are built for, and the best level of this processor.
#pragma once

#include "millrace/base/error/result.h"

#include <span>
#include <string_view>

namespace millrace::machine {

// Lowest first. A processor runs code of its own level and of all lower levels.
enum class Isa {
  baseline,  // the compiler's default; the only level outside x86
  sse41,     // SSE4.1
  avx2,      // AVX2, FMA and F16C
  avx512,    // AVX2 and AVX-512 F, CD, BW, DQ and VL
};

// All levels, lowest first.
[[nodiscard]] std::span<const Isa> all_isas();

[[nodiscard]] std::string_view name_of(Isa isa);

// The inverse of name_of. Usage error that lists the names.
[[nodiscard]] Result<Isa> parse_isa(std::string_view name);

// The highest level that both the processor and the operating system support. Cheap after the first call.
// Thread-safe.
[[nodiscard]] Isa best_isa();

// Whether this process can run code of this level.
[[nodiscard]] inline bool can_run(Isa isa) { return isa <= best_isa(); }

}  // namespace millrace::machine
