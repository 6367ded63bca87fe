// BirthWatch: observes a program's births during a run: by its tracer at first, if there is one, and by
// polling later.
#pragma once

#include "millrace/placement/birth/follower.h"
#include "millrace/placement/run/birth_poller.h"

#include <cstdint>
#include <functional>
#include <limits>

namespace millrace::placement {

// Not thread-safe.
class BirthWatch {
 public:
  // threads: see BirthPoller. hand_over_ns: a traced program is handed over after this time without
  // births.
  BirthWatch(ThreadRegister& threads, std::int64_t hand_over_ns)
      : threads_(&threads), poller_(threads), hand_over_ns_(hand_over_ns) {}

  // Call this when the program starts to run.
  void program_begins(std::int64_t now) { begun_ns_ = now; }
  // Starts polling, because births are not reported from now on. Also finds `orphans`.
  void begin_polling(Orphans orphans);
  [[nodiscard]] bool polls() const { return polls_; }
  // When look() should be called next, on the clock of now_ns(); never, if births are reported.
  [[nodiscard]] std::int64_t next_ns() const {
    return polls_ ? next_ns_ : std::numeric_limits<std::int64_t>::max();
  }
  // Finds new births; may be called early.
  void look(std::int64_t now);
  // True if `follower` no longer reports births, so that polling must begin. That is so if nothing was born
  // for long and this call ended tracing, or for other reasons (Tracer::LetGo).
  [[nodiscard]] bool has_handed_over(Follower& follower, std::int64_t now);

  // Finds everything that lives now, before it is restored.
  void find_all();
  // Finds births that were under way meanwhile, until there are no more.
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
