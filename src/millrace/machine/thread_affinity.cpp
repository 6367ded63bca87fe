#include "millrace/machine/thread_affinity.h"

#include "millrace/base/system_reason.h"

#include <cerrno>
#include <sched.h>
#include <tuple>
#include <vector>

namespace millrace::machine {
namespace {

// sched_getaffinity fails with EINVAL while the buffer is smaller than the kernel's own mask, whose size it
// does not tell; so the buffer is doubled until it fits. 1024 CPUs, glibc's cpu_set_t, is the first guess.
constexpr std::size_t first_guess_bytes = 128;
constexpr std::size_t last_guess_bytes = CpuSet::limit / 8;

using MaskWord = unsigned long;
constexpr std::size_t mask_bits = sizeof(MaskWord) * 8;

}  // namespace

Result<CpuSet> thread_affinity(pid_t thread) {
  for (std::size_t bytes = first_guess_bytes; bytes <= last_guess_bytes; bytes *= 2) {
    std::vector<MaskWord> mask(bytes / sizeof(MaskWord));
    if (sched_getaffinity(thread, bytes, reinterpret_cast<cpu_set_t*>(mask.data())) == 0) {
      CpuSet cpus;
      for (std::size_t cpu = 0; cpu < mask.size() * mask_bits; ++cpu)
        if ((mask[cpu / mask_bits] >> (cpu % mask_bits) & 1) != 0) cpus.insert(static_cast<int>(cpu));
      return cpus;
    }
    if (errno != EINVAL) break;
  }
  if (errno == ESRCH) return failure("thread {} is gone", thread);
  return failure("cannot read the thread's CPU affinity: {}", system_reason(errno));
}

Result<CpuSet> current_thread_affinity() { return thread_affinity(0); }

Result<CpuSet> bind_thread(pid_t thread, const CpuSet& cpus) {
  if (cpus.empty()) return usage_error("cannot bind a thread to no CPU at all; name at least one");
  std::vector<MaskWord> mask(static_cast<std::size_t>(cpus.highest()) / mask_bits + 1);
  for (const int cpu : cpus) {
    const auto bit = static_cast<std::size_t>(cpu);
    mask[bit / mask_bits] |= MaskWord{1} << (bit % mask_bits);
  }
  const std::size_t bytes = mask.size() * sizeof(MaskWord);
  if (sched_setaffinity(thread, bytes, reinterpret_cast<const cpu_set_t*>(mask.data())) != 0) {
    if (errno == EINVAL)
      return usage_error("cannot bind a thread to CPU {}: not online or not in this process's cpuset",
                         cpus.to_string());
    if (errno == ESRCH) return failure("thread {} is gone", thread);
    return failure("cannot bind a thread to CPU {}: {}", cpus.to_string(), system_reason(errno));
  }
  return thread_affinity(thread);
}

Result<CpuSet> bind_current_thread(const CpuSet& cpus) { return bind_thread(0, cpus); }

AffinityGuard::AffinityGuard() {
  if (auto mask = current_thread_affinity()) saved_ = std::move(*mask);
}

AffinityGuard::~AffinityGuard() {
  // Best effort: a cpuset that shrank meanwhile may refuse, and a destructor has nobody to tell.
  if (saved_) std::ignore = bind_current_thread(*saved_);
}

}  // namespace millrace::machine
