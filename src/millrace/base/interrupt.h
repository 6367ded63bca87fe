// Interrupt: Ctrl-C as a request that the work answers.
#pragma once

#include "millrace/base/descriptor.h"
#include "millrace/base/result.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <stop_token>
#include <thread>

namespace millrace {

// Takes SIGINT, SIGTERM and SIGHUP for the process while it lives, except those that are ignored (as under
// nohup); make it before any other thread, as threads inherit which signals are blocked. The first signal
// asks for the stop, and so do those that come together with it (timeout(1) sends two); a later one ends the
// process at once. Where there is no descriptor left to receive them by, they act as usual from the
// beginning.
class Interrupt {
 public:
  static constexpr std::chrono::milliseconds one_request{300};  // signals within it are one

  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // What a std::stop_callback on it calls runs on a thread of its own; it must not wait for long.
  [[nodiscard]] std::stop_token token() const { return requested_.get_token(); }
  [[nodiscard]] bool requested() const { return requested_.stop_requested(); }

  // What the work came to; an error of being interrupted tells by which signal.
  template <class T> [[nodiscard]] Result<T> told(Result<T> outcome) const {
    // Relaxed: who was stopped by the token sees what was stored before the stop.
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
