// Which processes a process has made: read once, or by ChildrenReader again and again.
#pragma once

#include "millrace/base/descriptor.h"
#include "millrace/base/kept_files.h"

#include <cstddef>
#include <unordered_map>
#include <vector>

#include <sys/types.h>

namespace millrace::placement {

// Opening a file costs several times reading it, so files are kept open, as many as there may be.
//
// Used by one thread at a time.
class ChildrenReader {
 public:
  // The processes that `threads`, all those of `process`, made and that live; in no order.
  [[nodiscard]] std::vector<pid_t> read(pid_t process, const std::vector<pid_t>& threads);
  // Closes the files of threads that were not read of since the last call.
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

// Those that `process` made and that live; in no order.
[[nodiscard]] std::vector<pid_t> list_children(pid_t process);

}  // namespace millrace::placement
