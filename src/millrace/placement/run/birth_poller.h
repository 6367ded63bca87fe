// BirthPoller: finds the births of a program by looking, where nothing else tells of them.
#pragma once

#include "millrace/placement/apply/thread_register.h"
#include "millrace/placement/birth/birth_shim.h"
#include "millrace/placement/task/children_reader.h"

#include <set>

#include <sys/types.h>

namespace millrace::placement {

// Used by one thread at a time.
class BirthPoller {
 public:
  // `threads`, told of what is found, and `shim` (null: none) outlive it.
  BirthPoller(ThreadRegister& threads, BirthShim* shim) : threads_(&threads), shim_(shim) {}
  BirthPoller(const BirthPoller&) = delete;
  BirthPoller& operator=(const BirthPoller&) = delete;
  // Orphans are init's again.
  ~BirthPoller();

  // Whether it found any that are new.
  bool poll();
  // From now on this process is left with all processes of the program whose makers have ended. Any thread
  // may call it, in good time before nobody else tells of births.
  static void take_orphans();
  // And finds them: every child that this process has or makes is the program's, but for `own`.
  void look_for_orphans(std::set<pid_t> own);

 private:
  ThreadRegister* threads_;
  BirthShim* shim_;
  ChildrenReader children_;
  bool looks_for_orphans_ = false;
  std::set<pid_t> own_;
  std::set<pid_t> seen_once_;  // where there is a shim: threads that /proc has shown
};

}  // namespace millrace::placement
