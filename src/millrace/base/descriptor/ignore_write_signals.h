// Ignores the signals that would end a program in the middle of a write.
#pragma once

#include <csignal>

namespace millrace {

// Afterwards, writing to a pipe without a reader or beyond `ulimit -f` fails with an error that can be
// reported. Call it in main() before any thread exists.
inline void ignore_write_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace millrace
