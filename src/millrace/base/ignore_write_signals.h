// Signals that would end a program in the middle of a write.
#pragma once

#include <csignal>

namespace millrace {

// From now on a write to a pipe whose reader went away, and one that makes a file larger than `ulimit -f`
// allows, fail with an error that can be told instead. For main(), before there are threads.
inline void ignore_write_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace millrace
