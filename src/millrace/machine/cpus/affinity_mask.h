// The kernel's representation of a CPU set: an array of words. Bit b of word w is CPU w * mask_bits + b.
#pragma once

#include "millrace/machine/cpus/cpu_set.h"

#include <cstddef>
#include <span>
#include <vector>

#include <sys/types.h>

namespace millrace::machine {

using MaskWord = unsigned long;
inline constexpr std::size_t mask_bits = sizeof(MaskWord) * 8;
using AffinityMask = std::vector<MaskWord>;

// The word and the bit of a CPU. Requires cpu >= 0.
[[nodiscard]] constexpr std::size_t word_of(int cpu) { return static_cast<std::size_t>(cpu) / mask_bits; }
[[nodiscard]] constexpr MaskWord bit_of(int cpu) {
  return MaskWord{1} << (static_cast<std::size_t>(cpu) % mask_bits);
}

// Uses as many words as `cpus` needs, but at least `words`.
[[nodiscard]] AffinityMask to_mask(const CpuSet& cpus, std::size_t words = 0);
[[nodiscard]] CpuSet to_cpu_set(const AffinityMask& mask);

// sched_getaffinity and sched_setaffinity with a mask of any length; `thread` 0 is the calling thread.
// Returns false and sets errno on failure. EINVAL on reading means that the kernel's masks are longer.
[[nodiscard]] bool read_mask(pid_t thread, std::span<MaskWord> mask);
[[nodiscard]] bool write_mask(pid_t thread, std::span<const MaskWord> mask);

// The thread's mask, in as many words as this kernel needs. Empty on error, with errno set.
[[nodiscard]] AffinityMask mask_of_thread(pid_t thread);

}  // namespace millrace::machine
