#include "millrace/machine/processor/isa.h"

#include <array>

namespace millrace::machine {
namespace {

constexpr std::array isas{Isa::baseline, Isa::sse41, Isa::avx2, Isa::avx512};

#if defined(__x86_64__) || defined(__i386__)
// The compiler's built-in reads CPUID once. It reports an AVX level only if XGETBV shows that the operating
// system saves the registers.
Isa detect() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("sse4.1")) return Isa::baseline;
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("f16c"))
    return Isa::sse41;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  return avx512 ? Isa::avx512 : Isa::avx2;
}
#else
Isa detect() { return Isa::baseline; }
#endif

}  // namespace

std::span<const Isa> all_isas() { return isas; }

std::string_view name_of(Isa isa) {
  switch (isa) {
  case Isa::baseline:
    return "baseline";
  case Isa::sse41:
    return "sse41";
  case Isa::avx2:
    return "avx2";
  case Isa::avx512:
    return "avx512";
  }
  return "";
}

Result<Isa> parse_isa(std::string_view name) {
  for (const Isa isa : isas)
    if (name_of(isa) == name) return isa;
  return usage_error("unknown instruction set \"{}\"; choose one of baseline, sse41, avx2, avx512", name);
}

Isa best_isa() {
  static const Isa best = detect();
  return best;
}

}  // namespace millrace::machine
