// RunTimesReader: reads the run times of many threads again and again.
#pragma once

#include "millrace/base/descriptor.h"
#include "millrace/placement/task/task_files.h"

#include <optional>
#include <unordered_map>

#include <sys/types.h>

namespace millrace::placement {

// Opening a file costs several times reading it, so files are kept open, though not so many that the limit of
// 1024 open files of most systems is near.
//
// Used by one thread at a time.
class RunTimesReader {
 public:
  // Nothing when the thread is gone.
  [[nodiscard]] std::optional<RunTimes> read(pid_t process, pid_t thread);
  // It has ended, or has another number now.
  void forget(pid_t thread) { files_.erase(thread); }

 private:
  std::unordered_map<pid_t, Descriptor> files_;  // of schedstat
};

}  // namespace millrace::placement
