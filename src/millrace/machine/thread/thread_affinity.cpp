#include "millrace/machine/thread/thread_affinity.h"

#include "millrace/base/error/system_reason.h"
#include "millrace/machine/cpus/affinity_mask.h"
#include "millrace/machine/thread/thread_ended.h"

#include <cerrno>
#include <fstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace millrace::machine {
namespace {

// Reads the same mask from /proc, in case the system call is refused. Nothing if /proc is unreadable too.
std::optional<CpuSet> affinity_in_proc(pid_t thread) {
  constexpr std::string_view field = "Cpus_allowed_list:";
  std::ifstream status(thread == 0 ? "/proc/thread-self/status" : fmt::format("/proc/{}/status", thread));
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(field)) continue;
    const std::size_t list = line.find_first_not_of(" \t", field.size());
    auto cpus = CpuSet::parse(list == std::string::npos ? "" : line.substr(list));
    if (cpus && !cpus->empty()) return std::move(*cpus);
    break;
  }
  return std::nullopt;
}

}  // namespace

Result<CpuSet> thread_affinity(pid_t thread) {
  const AffinityMask mask = mask_of_thread(thread);
  if (!mask.empty()) return to_cpu_set(mask);
  const int error = errno;
  if (error == ESRCH) return thread_ended(thread);
  if (auto cpus = affinity_in_proc(thread)) return std::move(*cpus);
  return failure("cannot read the thread's CPU affinity: {}", system_reason(error));
}

Result<CpuSet> current_thread_affinity() { return thread_affinity(0); }

Result<CpuSet> bind_thread(pid_t thread, const CpuSet& cpus) {
  if (cpus.empty()) return usage_error("cannot bind a thread to no CPU at all; name at least one");
  if (!write_mask(thread, to_mask(cpus))) {
    if (errno == EINVAL)
      return usage_error("cannot bind a thread to CPU {}: not online or not in this process's cpuset",
                         cpus.to_string());
    if (errno == ESRCH) return thread_ended(thread);
    return failure("cannot bind a thread to CPU {}: {}", cpus.to_string(), system_reason(errno));
  }
  return thread_affinity(thread);
}

void bind_unjoined_thread(pthread_t thread, const CpuSet& cpus) {
  const AffinityMask mask = to_mask(cpus);
  static_cast<void>(pthread_setaffinity_np(thread, mask.size() * sizeof(MaskWord),
                                           reinterpret_cast<const cpu_set_t*>(mask.data())));
}

Result<CpuSet> bind_current_thread(const CpuSet& cpus) { return bind_thread(0, cpus); }

AffinityGuard::AffinityGuard() {
  if (auto mask = current_thread_affinity()) saved_ = std::move(*mask);
}

AffinityGuard::~AffinityGuard() {
  // Best effort: the cpuset may have shrunk, and a destructor cannot report an error.
  if (saved_ && current_thread_affinity() != *saved_) std::ignore = bind_current_thread(*saved_);
}

}  // namespace millrace::machine
