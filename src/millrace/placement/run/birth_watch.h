// BirthWatch: how the births of a program are seen in the course of a run: told of by a tracer first, where
// there is one, and looked for later.
#pragma once

#include "millrace/placement/birth/follower.h"
#include "millrace/placement/run/birth_poller.h"

#include <cstdint>
#include <functional>
#include <limits>

namespace millrace::placement {

// Used by one thread at a time.
class BirthWatch {
 public:
  // threads and shim: see BirthPoller. hand_over_ns: a traced program that has made nothing for so long is
  // handed over.
  BirthWatch(ThreadRegister& threads, BirthShim* shim, std::int64_t hand_over_ns)
      : threads_(&threads), poller_(threads, shim), hand_over_ns_(hand_over_ns) {}

  // The program runs from now on.
  void program_begins(std::int64_t now) { begun_ns_ = now; }
  // Nobody tells of births from now on. Also finds `orphans`.
  void begin_polling(Orphans orphans);
  [[nodiscard]] bool polls() const { return polls_; }
  // When look() has something to do, on the clock of now_ns(); for ever, where births are told of.
  [[nodiscard]] std::int64_t next_ns() const {
    return polls_ ? next_ns_ : std::numeric_limits<std::int64_t>::max();
  }
  // Finds what was born; may be called early.
  void look(std::int64_t now);
  // Whether `follower` tells of births no more, so that polling is to begin: because nothing was born for
  // long, so that this ended it, or for other reasons (Tracer::LetGo).
  [[nodiscard]] bool has_handed_over(Follower& follower, std::int64_t now);

  // Finds what lives now, before it is given back what it had.
  void find_all();
  // Finds what was being born meanwhile, until that is all.
  void find_late_births();

 private:
  ThreadRegister* threads_;
  BirthPoller poller_;
  std::int64_t hand_over_ns_;
  std::int64_t begun_ns_ = 0;
  std::int64_t next_ns_ = 0;
  bool polls_ = false;
};

}  // namespace millrace::placement
