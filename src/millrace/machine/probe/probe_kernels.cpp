#include "millrace/machine/probe/probe_kernels.h"

#include "millrace/machine/processor/isa.h"

#include <array>
#include <cstdint>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#define MILLRACE_VECTOR "+x"
#elif defined(__aarch64__)
#define MILLRACE_VECTOR "+w"
#elif defined(__powerpc64__)
#define MILLRACE_VECTOR "+wa"
#else
#define MILLRACE_VECTOR "+m"
#endif

namespace millrace::machine {
namespace {

constexpr int iterations = 500;

// The empty assembly hides the loop's values from the compiler, which must compute them in registers.

void add_integers(KernelMemory& /*memory*/) {
  std::uint64_t a = 1;
  std::uint64_t b = 2;
  std::uint64_t c = 3;
  std::uint64_t d = 4;
  std::uint64_t e = 5;
  std::uint64_t f = 6;
  std::uint64_t g = 7;
  std::uint64_t h = 8;
  for (int i = 0; i < iterations; ++i) {
    a += 3;
    b += 3;
    c += 3;
    d += 3;
    e += 3;
    f += 3;
    g += 3;
    h += 3;
    asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h));
  }
}

using Doubles = double __attribute__((vector_size(16)));
using Integers = std::int32_t __attribute__((vector_size(16)));

// This many independent chains saturate two units with four cycles of latency.
void multiply_and_add(KernelMemory& /*memory*/) {
  std::array<Doubles, 8> sums{};
  Doubles factor{0.5, 0.5};
  Doubles more{1, 1};
  asm volatile("" : MILLRACE_VECTOR(factor), MILLRACE_VECTOR(more));
  for (int i = 0; i < iterations; ++i) {
    for (Doubles& sum : sums)
      sum = sum * factor + more;
    asm volatile(""
                 : MILLRACE_VECTOR(sums[0]), MILLRACE_VECTOR(sums[1]), MILLRACE_VECTOR(sums[2]),
                   MILLRACE_VECTOR(sums[3]), MILLRACE_VECTOR(sums[4]), MILLRACE_VECTOR(sums[5]),
                   MILLRACE_VECTOR(sums[6]), MILLRACE_VECTOR(sums[7]));
  }
}

void add_integer_vectors(KernelMemory& /*memory*/) {
  std::array<Integers, 8> sums{};
  Integers more{1, 2, 3, 4};
  asm volatile("" : MILLRACE_VECTOR(more));
  for (int i = 0; i < iterations; ++i) {
    for (Integers& sum : sums)
      sum += more;
    asm volatile(""
                 : MILLRACE_VECTOR(sums[0]), MILLRACE_VECTOR(sums[1]), MILLRACE_VECTOR(sums[2]),
                   MILLRACE_VECTOR(sums[3]), MILLRACE_VECTOR(sums[4]), MILLRACE_VECTOR(sums[5]),
                   MILLRACE_VECTOR(sums[6]), MILLRACE_VECTOR(sums[7]));
  }
}

#if defined(__x86_64__)

using WideDoubles = double __attribute__((vector_size(32)));
using WideIntegers = std::int32_t __attribute__((vector_size(32)));

[[gnu::target("avx2,fma")]] void multiply_and_add_avx2(KernelMemory& /*memory*/) {
  std::array<WideDoubles, 10> sums{};
  WideDoubles factor{0.5, 0.5, 0.5, 0.5};
  WideDoubles more{1, 1, 1, 1};
  asm volatile("" : "+x"(factor), "+x"(more));
  for (int i = 0; i < iterations; ++i) {
    for (WideDoubles& sum : sums)
      sum = _mm256_fmadd_pd(sum, factor, more);
    asm volatile(""
                 : "+x"(sums[0]), "+x"(sums[1]), "+x"(sums[2]), "+x"(sums[3]), "+x"(sums[4]), "+x"(sums[5]),
                   "+x"(sums[6]), "+x"(sums[7]), "+x"(sums[8]), "+x"(sums[9]));
  }
}

[[gnu::target("avx2")]] void add_integer_vectors_avx2(KernelMemory& /*memory*/) {
  std::array<WideIntegers, 10> sums{};
  WideIntegers more{1, 1, 1, 1, 1, 1, 1, 1};
  asm volatile("" : "+x"(more));
  for (int i = 0; i < iterations; ++i) {
    for (WideIntegers& sum : sums)
      sum += more;
    asm volatile(""
                 : "+x"(sums[0]), "+x"(sums[1]), "+x"(sums[2]), "+x"(sums[3]), "+x"(sums[4]), "+x"(sums[5]),
                   "+x"(sums[6]), "+x"(sums[7]), "+x"(sums[8]), "+x"(sums[9]));
  }
}

#endif

// Reads 16 KiB, one word per cache line.
void read_memory(KernelMemory& memory) {
  constexpr std::size_t line = 64;
  constexpr std::size_t step = 8 * line;
  constexpr std::size_t round = 16 * 1024;
  const std::byte* at = memory.data + memory.position;
  for (const std::byte* const end = at + round; at != end; at += step) {
    std::array<std::uint64_t, 8> words{};
    for (std::size_t i = 0; i < words.size(); ++i)
      words[i] = *reinterpret_cast<const volatile std::uint64_t*>(at + i * line);
    asm volatile(""
                 :
                 : "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]), "r"(words[4]), "r"(words[5]),
                   "r"(words[6]), "r"(words[7]));
  }
  memory.position += round;
  if (memory.position + round > memory.bytes) memory.position = 0;
}

}  // namespace

ProbeKernel kernel_of(SharedUnit unit) {
  switch (unit) {
  case SharedUnit::integer:
    return add_integers;
  case SharedUnit::fp:
#if defined(__x86_64__)
    if (can_run(Isa::avx2)) return multiply_and_add_avx2;
#endif
    return multiply_and_add;
  case SharedUnit::simd:
#if defined(__x86_64__)
    if (can_run(Isa::avx2)) return add_integer_vectors_avx2;
#endif
    return add_integer_vectors;
  default:
    return read_memory;
  }
}

std::string_view kernel_name(SharedUnit unit) {
  constexpr std::array<std::string_view, shared_units> names{"int", "fma", "simd-int", "L1",
                                                             "L2",  "L3",  "dram"};
  return names[static_cast<std::size_t>(unit)];
}

}  // namespace millrace::machine
