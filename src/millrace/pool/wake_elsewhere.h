// Controls on which CPU a thread wakes: on any, or not on that of the waking thread, which keeps running.
//
// In a virtual machine, the kernel mistakes a sleeping CPU for one that the hypervisor has taken away
// (vcpu_is_preempted in select_idle_sibling). It then prefers the waking thread's CPU. Both threads take
// turns there until load balancing separates them some milliseconds later, which is longer than most forks
// take. If the other CPUs are busy with threads of the same work, such as those that read and write video,
// avoiding the leader's CPU costs more than it gains.
#pragma once

#include <cstdint>

#include <sys/types.h>

namespace millrace::pool {

enum class WakeUp { anywhere, elsewhere };

// A thread that can be kept off a CPU briefly. A value of 8 bytes.
struct Wakeable {
  pid_t thread = 0;
  std::uint32_t cpus = 0;  // checksum of the CPUs it may use; 0: pinned by other code, leave it alone

  // Describes the calling thread. Costs some microseconds of system calls.
  [[nodiscard]] static Wakeable here();
};

// Keeps the thread from starting to run on `cpu` during its lifetime. Construct it before the wake-up and
// destroy it afterwards. No effect if the thread has been pinned meanwhile, has no other CPU, or the kernel
// refuses. Afterwards the thread may use the same CPUs as before, even if the process's CPUs change later. An
// affinity that other code sets in the meantime is kept, except in the microsecond between reading the mask
// and restoring it, in which it is lost.
class KeptOff {
 public:
  KeptOff(const Wakeable& thread, int cpu);
  ~KeptOff();
  KeptOff(const KeptOff&) = delete;
  KeptOff& operator=(const KeptOff&) = delete;

 private:
  pid_t thread_ = 0;           // 0: no effect
  std::uint32_t without_ = 0;  // checksum of the CPUs without `cpu`
};

}  // namespace millrace::pool
