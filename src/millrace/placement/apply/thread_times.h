// ThreadTimes: how long the threads of a program have run and waited, and how often they moved.
#pragma once

#include "millrace/base/descriptor.h"
#include "millrace/base/kept_files.h"
#include "millrace/placement/task/task_files.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>

#include <sys/types.h>

namespace millrace::placement {

// Opening a file costs several times reading it, so files are kept open, as many as there may be.
//
// Used by one thread at a time.
class ThreadTimes {
 public:
  // Whether the thread has run since it was read last, as far as that can be read; nothing when it is gone.
  [[nodiscard]] std::optional<bool> read(pid_t process, pid_t thread);
  // Reads the moves from one CPU to another of the next `most` threads, in turn, that have run since theirs
  // were read: that file costs as much as many others.
  void read_migrations(int most);
  // What it had counts on.
  void ended(pid_t thread);
  // It has another number now.
  void renumber(pid_t former, pid_t number);

  // Of all threads, the ended ones as far as they were read.
  [[nodiscard]] const RunTimes& sum() const { return sum_; }
  [[nodiscard]] std::int64_t migrations() const { return migrations_; }

 private:
  struct Thread {
    Descriptor schedstat;
    RunTimes times;
    std::int64_t migrations = 0;
  };

  void read_migrations_of(pid_t process, pid_t thread);

  std::unordered_map<pid_t, Thread> threads_;
  std::map<pid_t, pid_t> may_have_moved_;  // threads, with their processes
  pid_t last_read_ = 0;                    // of these
  static constexpr std::size_t most_threads = 256;
  std::size_t most_open_files_ = most_kept_files(most_threads);
  std::size_t open_files_ = 0;
  RunTimes sum_;
  std::int64_t migrations_ = 0;
};

}  // namespace millrace::placement
