// On which CPU a thread wakes: on any, or not on that of the thread that wakes it and goes on.
//
// In a virtual machine the kernel takes a CPU that sleeps for one that the hypervisor has given to others
// (vcpu_is_preempted in select_idle_sibling), and the CPU of the waking thread for the better choice. The two
// then take turns there until it balances its load, some milliseconds later: longer than most forks take.
// Where the other CPUs are busy with threads of the same work, as those that read and write video, keeping
// off costs more than it gains.
#pragma once

#include <cstdint>

#include <sys/types.h>

namespace millrace::pool {

enum class WakeUp { anywhere, elsewhere };

// A thread that may be kept off a CPU for a moment. A value of 8 bytes.
struct Wakeable {
  pid_t thread = 0;
  std::uint32_t cpus = 0;  // that it may use, as a checksum; 0: somebody has bound it, and it is left alone

  // The calling thread. Asks the kernel: some microseconds.
  [[nodiscard]] static Wakeable here();
};

// While it exists the thread does not begin to run on `cpu`: made before the thread is woken, destroyed
// after. Without effect where the thread was bound meanwhile, has no other CPU, or the kernel refuses. What
// it may use afterwards is what it could use before, also where the process's CPUs change later, or what
// others have bound it to meanwhile; but for the microsecond between the kernel's answer and the next word to
// it, in which what others say is lost.
class KeptOff {
 public:
  KeptOff(const Wakeable& thread, int cpu);
  ~KeptOff();
  KeptOff(const KeptOff&) = delete;
  KeptOff& operator=(const KeptOff&) = delete;

 private:
  pid_t thread_ = 0;           // 0: no effect
  std::uint32_t without_ = 0;  // the checksum of what it may use meanwhile
};

}  // namespace millrace::pool
