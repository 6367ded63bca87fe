// Ctrl-C as a request that the work answers at its next frame.
#pragma once

#include <atomic>
#include <csignal>
#include <functional>
#include <thread>

namespace millrace::cli {

// Takes SIGINT and SIGTERM for the process while it lives; make it before any other thread. The first signal
// sets requested() and calls what on_interrupt() was given, on a thread of its own; a second one ends the
// process at once.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  [[nodiscard]] bool requested() const { return requested_.load(std::memory_order_acquire); }
  // Called once, to end waits that nobody else ends. Set before the work starts; must not block.
  void on_interrupt(std::function<void()> action) {
    action_ = std::move(action);
    armed_.store(true, std::memory_order_release);
  }
  // No call happens after this returns.
  void disarm();

 private:
  void watch();

  sigset_t signals_{};
  sigset_t before_{};
  std::function<void()> action_;
  // Release pairs with the acquire in watch(): what was set before arming is seen by the thread that calls
  // it.
  std::atomic<bool> armed_ = false;
  std::atomic<bool> calling_ = false;
  std::atomic<bool> requested_ = false;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace millrace::cli
