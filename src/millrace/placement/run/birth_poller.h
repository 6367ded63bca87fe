// BirthPoller: finds a program's births by polling, if nothing reports them.
#pragma once

#include "millrace/placement/apply/thread_register.h"
#include "millrace/placement/birth/birth_shim.h"
#include "millrace/placement/run/orphans.h"
#include "millrace/placement/task/children.h"

#include <functional>
#include <optional>
#include <set>
#include <utility>

#include <sys/types.h>

namespace millrace::placement {

// Not thread-safe.
class BirthPoller {
 public:
  // Reports what it finds to `threads`. `threads` and `shim` (null: none) must outlive it.
  BirthPoller(ThreadRegister& threads, BirthShim* shim);
  BirthPoller(const BirthPoller&) = delete;
  BirthPoller& operator=(const BirthPoller&) = delete;
  // Restores the earlier setting for orphans (see take_orphans()).
  ~BirthPoller();

  // Returns whether it found new processes or threads.
  bool poll();
  // Like poll(), but does nothing if no thread of the program has run since the last look: only running
  // threads make others.
  bool poll_if_any_ran();
  // From now on, orphaned processes of the program are reparented to this process. Thread-safe. Call this
  // well before births stop being reported.
  static void take_orphans();
  // Follows only processes for which `accept` returns true.
  void follow_only(std::function<bool(pid_t)> accept) { accept_ = std::move(accept); }
  void look_for(Orphans orphans) { orphans_ = std::move(orphans); }

 private:
  ThreadRegister* threads_;
  BirthShim* shim_;
  int took_orphans_before_ = 0;
  ChildrenReader children_;
  std::function<bool(pid_t)> accept_;
  std::optional<Orphans> orphans_;
  std::set<pid_t> seen_once_;        // with a shim: threads that were in /proc once
  ThreadRegister::Activity before_;  // at the last look
  bool passed_over_ = false;         // the last look left a thread to the next one
  bool to_be_confirmed_ = true;      // it was the first look, or may have missed a birth
};

}  // namespace millrace::placement
