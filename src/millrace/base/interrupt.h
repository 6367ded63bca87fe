// Interrupt: Ctrl-C as a request that the work answers.
#pragma once

#include "millrace/base/descriptor.h"

#include <csignal>
#include <stop_token>
#include <thread>

namespace millrace {

// Takes SIGINT, SIGTERM and SIGHUP for the process while it lives, except those that are ignored (as under
// nohup); make it before any other thread, as threads inherit which signals are blocked. The first signal
// asks for the stop; a second one ends the process at once.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // What a std::stop_callback on it calls runs on a thread of its own; it must not wait for long.
  [[nodiscard]] std::stop_token token() const { return requested_.get_token(); }
  [[nodiscard]] bool requested() const { return requested_.stop_requested(); }

 private:
  void watch(const std::stop_token& end);

  sigset_t signals_{};
  sigset_t before_{};
  Descriptor arrivals_;
  std::stop_source requested_;
  std::jthread watcher_;
};

}  // namespace millrace
