// Orphans: processes of a program whose makers have ended, which the kernel has given to another process.
#pragma once

#include "millrace/placement/apply/thread_register.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

namespace millrace::placement {

// The kernel gives them to the nearest process above that has asked for them, or else to init.
//
// Used by one thread at a time.
class Orphans {
 public:
  // Of a program that this process has launched, which has asked for them (BirthPoller::take_orphans()): all
  // children that it has or makes, but for `own`.
  [[nodiscard]] static Orphans of_launched(std::set<pid_t> own);
  // Of a program that was there before, and from now on. Whoever above it may be given them, also has other
  // children; so those count that began since, are the same user's and in the same control group, and have
  // what the program's threads were given: nobody else has anything to be given back.
  [[nodiscard]] static Orphans of_joined(pid_t program);

  // Those that live and that `threads` does not know.
  [[nodiscard]] std::vector<pid_t> find(const ThreadRegister& threads);

 private:
  [[nodiscard]] bool descends(pid_t process, const ThreadRegister& threads) const;

  std::vector<pid_t> given_to_;
  std::set<pid_t> others_;  // children of those that are none of the program's
  bool joined_ = false;
  std::uint64_t since_ = 0;  // start time, in clock ticks since boot
  uid_t user_ = 0;
  std::string control_group_;
};

}  // namespace millrace::placement
