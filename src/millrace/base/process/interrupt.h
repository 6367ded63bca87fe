// Interrupt: turns Ctrl-C into a stop request for the work.
#pragma once

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/error/result.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <stop_token>
#include <thread>

namespace millrace {

// Handles SIGINT, SIGTERM and SIGHUP for the process during its lifetime, except signals that are ignored (as
// under nohup). Construct it before any other thread, because threads inherit the blocked signals. The first
// signal requests the stop. Signals that arrive together with it count as one request, because timeout(1)
// sends two. A later signal ends the process at once. If no descriptor is left to receive signals, they keep
// their usual effect from the start.
class Interrupt {
 public:
  static constexpr std::chrono::milliseconds one_request{300};  // signals within this time are one request

  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // A std::stop_callback on this token runs on the watcher thread. It must not block for long.
  [[nodiscard]] std::stop_token token() const { return requested_.get_token(); }
  [[nodiscard]] bool requested() const { return requested_.stop_requested(); }

  // Adds the signal number to an error of kind `interrupted`; returns every other outcome unchanged.
  template <class T> [[nodiscard]] Result<T> told(Result<T> outcome) const {
    // Relaxed: a thread that saw the stop request also sees the store that precedes it.
    const int signal = signal_.load(std::memory_order_relaxed);
    if (!outcome && outcome.error().kind == ErrorKind::interrupted && signal != 0)
      outcome.error().signal = signal;
    return outcome;
  }

 private:
  void watch(const std::stop_token& end);
  void take_repeats() const;

  sigset_t signals_{};
  sigset_t before_{};
  Descriptor arrivals_;
  std::atomic<int> signal_ = 0;
  std::stop_source requested_;
  std::jthread watcher_;
};

}  // namespace millrace
