// Orphans: finds processes of a program whose makers have ended, so that the kernel has reparented them.
#pragma once

#include "millrace/placement/apply/thread_register.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

namespace millrace::placement {

// The kernel reparents orphans to the nearest ancestor that is a subreaper, or else to init.
//
// Not thread-safe.
class Orphans {
 public:
  // For a program that this process launched as a subreaper (BirthPoller::take_orphans()): all its present
  // and future children except `own`.
  [[nodiscard]] static Orphans of_launched(std::set<pid_t> own);
  // For a program that already ran, from now on. The process that adopts its orphans has other children too.
  // So a child counts only if it began since, belongs to the same user and control group, and has state that
  // was given to the program's threads. No other process needs to be restored.
  [[nodiscard]] static Orphans of_joined(pid_t program);

  // The orphans that are alive and unknown to `threads`.
  [[nodiscard]] std::vector<pid_t> find(const ThreadRegister& threads);

 private:
  [[nodiscard]] bool descends(pid_t process, const ThreadRegister& threads) const;

  std::vector<pid_t> given_to_;
  std::set<pid_t> others_;  // children of the adopting processes that are not the program's
  bool joined_ = false;
  std::uint64_t since_ = 0;  // start time, in clock ticks since boot
  uid_t user_ = 0;
  std::string control_group_;
};

}  // namespace millrace::placement
