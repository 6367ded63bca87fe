// Ctrl-C and SIGTERM as a request to stop.
#pragma once

#include <csignal>
#include <stop_token>
#include <thread>

namespace millrace::similar {

// Takes SIGINT and SIGTERM for the process while it lives; make it before any other thread, as threads
// inherit which signals are blocked. The first signal stops what token() was given to; a second one ends the
// process at once.
class StopOnSignal {
 public:
  StopOnSignal();
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }

 private:
  sigset_t signals_{};
  sigset_t before_{};
  std::stop_source stop_;
  std::jthread thread_;
};

}  // namespace millrace::similar
