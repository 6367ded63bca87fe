#include "millrace/pool/wake_elsewhere.h"

#include "millrace/machine/cpus/affinity_mask.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <tuple>
#include <unistd.h>

#include <sys/syscall.h>

namespace millrace::pool {
namespace {

// As long as the kernel's longest mask (NR_CPUS), and without allocation: it is read at every wake-up.
using Mask = std::array<machine::MaskWord, 8192 / machine::mask_bits>;

// All possible CPUs, present and future. A pinned thread has fewer.
Mask all_cpus() {
  Mask all;
  all.fill(~machine::MaskWord{0});
  return all;
}

// Never returns 0.
std::uint32_t checksum(const Mask& cpus) {
  std::uint64_t sum = 1;
  for (std::size_t i = 0; i < cpus.size(); ++i)
    if (cpus[i] != 0) sum = (sum ^ (cpus[i] + i)) * 0x9e3779b97f4a7c15U + 1;
  return std::max(1U, static_cast<std::uint32_t>(sum >> 32U));
}

bool may_use(pid_t thread, std::uint32_t checksum_of_cpus) {
  Mask cpus;
  return machine::read_mask(thread, cpus) && checksum(cpus) == checksum_of_cpus;
}

}  // namespace

Wakeable Wakeable::here() {
  Wakeable self{.thread = static_cast<pid_t>(syscall(SYS_gettid))};
  Mask before;
  if (!machine::read_mask(0, before) || !machine::write_mask(0, all_cpus())) return self;
  Mask all;
  if (machine::read_mask(0, all) && all == before)
    self.cpus = checksum(before);
  else
    std::ignore = machine::write_mask(0, before);
  return self;
}

KeptOff::KeptOff(const Wakeable& thread, int cpu) {
  Mask cpus;
  if (thread.cpus == 0 || cpu < 0 || !machine::read_mask(thread.thread, cpus) ||
      checksum(cpus) != thread.cpus)
    return;
  if (machine::word_of(cpu) >= cpus.size()) return;
  cpus[machine::word_of(cpu)] &= ~machine::bit_of(cpu);
  if (std::ranges::none_of(cpus, [](machine::MaskWord word) { return word != 0; })) return;
  if (!machine::write_mask(thread.thread, cpus)) return;
  thread_ = thread.thread;
  without_ = checksum(cpus);
}

KeptOff::~KeptOff() {
  if (thread_ != 0 && may_use(thread_, without_)) std::ignore = machine::write_mask(thread_, all_cpus());
}

}  // namespace millrace::pool
