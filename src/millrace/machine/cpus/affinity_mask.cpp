#include "millrace/machine/cpus/affinity_mask.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <sched.h>

namespace millrace::machine {

AffinityMask to_mask(const CpuSet& cpus, std::size_t words) {
  const std::size_t needed = cpus.empty() ? 0 : word_of(cpus.highest()) + 1;
  AffinityMask mask(std::max(words, needed));
  for (const int cpu : cpus)
    mask[word_of(cpu)] |= bit_of(cpu);
  return mask;
}

CpuSet to_cpu_set(const AffinityMask& mask) {
  CpuSet cpus;
  for (std::size_t word = 0; word < mask.size(); ++word) {
    for (MaskWord left = mask[word]; left != 0; left &= left - 1)
      cpus.insert(static_cast<int>(word * mask_bits) + std::countr_zero(left));
  }
  return cpus;
}

bool read_mask(pid_t thread, std::span<MaskWord> mask) {
  return sched_getaffinity(thread, mask.size_bytes(), reinterpret_cast<cpu_set_t*>(mask.data())) == 0;
}

bool write_mask(pid_t thread, std::span<const MaskWord> mask) {
  return sched_setaffinity(thread, mask.size_bytes(), reinterpret_cast<const cpu_set_t*>(mask.data())) == 0;
}

AffinityMask mask_of_thread(pid_t thread) {
  // The kernel returns EINVAL if the buffer is smaller than its mask, and does not report the mask's size.
  // Double the buffer until it fits. The first guess is 1024 CPUs, the size of glibc's cpu_set_t.
  constexpr std::size_t first_guess_bits = 1024;
  for (std::size_t bits = first_guess_bits; bits <= CpuSet::limit; bits *= 2) {
    AffinityMask mask(bits / mask_bits);
    if (read_mask(thread, mask)) return mask;
    if (errno != EINVAL) break;
  }
  return {};
}

}  // namespace millrace::machine
