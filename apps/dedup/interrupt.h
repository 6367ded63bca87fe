// Interrupt: Ctrl-C as a request that the work answers.
#pragma once

#include "dedup/descriptor.h"

#include <csignal>
#include <stop_token>
#include <thread>

namespace millrace::dedup {

// Takes SIGINT, SIGTERM and SIGHUP for the process while it lives; make it before any other thread. The first
// signal asks for the stop; a second one ends the process at once.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  [[nodiscard]] std::stop_token token() const { return requested_.get_token(); }

 private:
  void watch(const std::stop_token& end);

  sigset_t signals_{};
  sigset_t before_{};
  Descriptor arrivals_;
  std::stop_source requested_;
  std::jthread watcher_;
};

}  // namespace millrace::dedup
