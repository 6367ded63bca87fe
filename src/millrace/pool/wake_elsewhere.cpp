#include "millrace/pool/wake_elsewhere.h"

#include <algorithm>
#include <unistd.h>

#include <sys/syscall.h>

namespace millrace::pool {
namespace {

constexpr std::size_t word_bits = 8 * sizeof(unsigned long);

// All that there are, now and later: what somebody has bound has fewer.
CpuBits all_cpus() {
  CpuBits all;
  all.fill(~0UL);
  return all;
}

// False: the kernel refuses, or has more of them.
bool read(pid_t thread, CpuBits& cpus) {
  cpus = {};
  return syscall(SYS_sched_getaffinity, thread, sizeof cpus, cpus.data()) > 0;
}

bool set(pid_t thread, const CpuBits& cpus) {
  return syscall(SYS_sched_setaffinity, thread, sizeof cpus, cpus.data()) == 0;
}

// Not 0.
std::uint32_t checksum(const CpuBits& cpus) {
  std::uint64_t sum = 1;
  for (std::size_t i = 0; i < cpus.size(); ++i)
    if (cpus[i] != 0) sum = (sum ^ (cpus[i] + i)) * 0x9e3779b97f4a7c15U + 1;
  return std::max(1U, static_cast<std::uint32_t>(sum >> 32U));
}

bool may_use(pid_t thread, std::uint32_t checksum_of_cpus) {
  CpuBits cpus;
  return read(thread, cpus) && checksum(cpus) == checksum_of_cpus;
}

}  // namespace

Wakeable Wakeable::here() {
  Wakeable self{.thread = static_cast<pid_t>(syscall(SYS_gettid))};
  CpuBits before;
  if (!read(0, before) || !set(0, all_cpus())) return self;
  CpuBits all;
  if (read(0, all) && all == before)
    self.cpus = checksum(before);
  else
    set(0, before);
  return self;
}

KeptOff::KeptOff(const Wakeable& thread, int cpu) {
  CpuBits cpus;
  if (thread.cpus == 0 || cpu < 0 || !read(thread.thread, cpus) || checksum(cpus) != thread.cpus) return;
  const auto at = static_cast<std::size_t>(cpu);
  if (at / word_bits >= cpus.size()) return;
  cpus[at / word_bits] &= ~(1UL << (at % word_bits));
  if (std::ranges::none_of(cpus, [](unsigned long word) { return word != 0; })) return;
  if (!set(thread.thread, cpus)) return;
  thread_ = thread.thread;
  without_ = checksum(cpus);
}

KeptOff::~KeptOff() {
  if (thread_ != 0 && may_use(thread_, without_)) set(thread_, all_cpus());
}

}  // namespace millrace::pool
