// ThreadTimes: how long a program's threads have run and waited, and how often they changed CPU.
#pragma once

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/file/kept_files.h"
#include "millrace/placement/task/task_files.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>

#include <sys/types.h>

namespace millrace::placement {

// Opening a file costs several times as much as reading it, so files are kept open up to a limit.
//
// Not thread-safe.
class ThreadTimes {
 public:
  // Returns whether the thread has run since the last read, as far as that can be read; nothing if it is
  // gone.
  [[nodiscard]] std::optional<bool> read(pid_t process, pid_t thread);
  // Reads the migrations of the next `most` threads, in turn, that have run since the last time. Only a few
  // are read at once because that file is as expensive as many others.
  void read_migrations(int most);
  // The thread's last values stay in the sums.
  void ended(pid_t thread);
  // The thread has a new number.
  void renumber(pid_t former, pid_t number);

  // Sums over all threads, with the last known values of those that ended.
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
  pid_t last_read_ = 0;                    // the last thread that was read of these
  static constexpr std::size_t most_threads = 256;
  std::size_t most_open_files_ = most_kept_files(most_threads);
  std::size_t open_files_ = 0;
  RunTimes sum_;
  std::int64_t migrations_ = 0;
};

}  // namespace millrace::placement
