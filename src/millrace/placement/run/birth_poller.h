// BirthPoller: finds a program's births by polling, if nothing reports them.
#pragma once

#include "millrace/placement/apply/thread_register.h"
#include "millrace/placement/run/orphans.h"
#include "millrace/placement/task/children.h"

#include <functional>
#include <optional>
#include <utility>

#include <sys/types.h>

namespace millrace::placement {

// Not thread-safe.
class BirthPoller {
 public:
  // Reports what it finds to `threads`, which must outlive it.
  explicit BirthPoller(ThreadRegister& threads);
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
  int took_orphans_before_ = 0;
  ChildrenReader children_;
  std::function<bool(pid_t)> accept_;
  std::optional<Orphans> orphans_;
  ThreadRegister::Activity before_;  // at the last look
  bool to_be_confirmed_ = true;      // it was the first look, or may have missed a birth
};

}  // namespace millrace::placement
