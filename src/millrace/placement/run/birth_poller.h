// BirthPoller: finds the births of a program by looking, where nothing else tells of them.
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

// Used by one thread at a time.
class BirthPoller {
 public:
  // `threads`, told of what is found, and `shim` (null: none) outlive it.
  BirthPoller(ThreadRegister& threads, BirthShim* shim);
  BirthPoller(const BirthPoller&) = delete;
  BirthPoller& operator=(const BirthPoller&) = delete;
  // Orphans are whose they were before.
  ~BirthPoller();

  // Whether it found any that are new.
  bool poll();
  // The same, but for nothing when no thread of the program has run since: only who runs makes others.
  bool poll_if_any_ran();
  // From now on this process is left with all processes of the program whose makers have ended. Any thread
  // may call it, in good time before nobody else tells of births.
  static void take_orphans();
  // Of processes only those for which this is true are followed.
  void follow_only(std::function<bool(pid_t)> accept) { accept_ = std::move(accept); }
  void look_for(Orphans orphans) { orphans_ = std::move(orphans); }

 private:
  ThreadRegister* threads_;
  BirthShim* shim_;
  int took_orphans_before_ = 0;
  ChildrenReader children_;
  std::function<bool(pid_t)> accept_;
  std::optional<Orphans> orphans_;
  std::set<pid_t> seen_once_;        // where there is a shim: threads that /proc has shown
  ThreadRegister::Activity before_;  // the last look
  bool passed_over_ = false;         // it left somebody to the next one
  bool to_be_confirmed_ = true;      // it was the first, or may have overlooked somebody
};

}  // namespace millrace::placement
