// Finds the processes that a process has made: once, or repeatedly with ChildrenReader.
#pragma once

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/file/kept_files.h"

#include <cstddef>
#include <unordered_map>
#include <vector>

#include <sys/types.h>

namespace millrace::placement {

// Opening a file costs several times as much as reading it, so files are kept open up to a limit.
//
// Not thread-safe.
class ChildrenReader {
 public:
  // The living processes made by `threads`, which are all threads of `process`; in no particular order.
  [[nodiscard]] std::vector<pid_t> read(pid_t process, const std::vector<pid_t>& threads);
  // Closes the files of threads that were not read since the last call.
  void forget_others();

 private:
  struct Kept {
    Descriptor file;
    bool read = true;  // since forget_others()
  };
  static constexpr std::size_t most_threads = 256;
  std::size_t most_open_files_ = most_kept_files(most_threads);
  std::unordered_map<pid_t, Kept> files_;
};

// The living processes that `process` made; in no particular order.
[[nodiscard]] std::vector<pid_t> list_children(pid_t process);

}  // namespace millrace::placement
