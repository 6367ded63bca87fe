// StoppableWait: waits for a descriptor until a stop is requested.
#pragma once

#include "millrace/base/descriptor/descriptor.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <stop_token>

namespace millrace {

// Ends current and later waits when the token is stopped or stop() is called. Thread-safe.
class StoppableWait {
 public:
  explicit StoppableWait(const std::stop_token& stop = {});
  StoppableWait(const StoppableWait&) = delete;
  StoppableWait& operator=(const StoppableWait&) = delete;

  void stop() const;
  [[nodiscard]] bool is_stopped() const { return stopped_.load(std::memory_order_acquire); }
  // Ends each current and later wait after `patience`, like a stop.
  void limit(std::chrono::milliseconds patience) const;

  // Returns true if the descriptor is readable (writable), has failed, or was closed at the other end.
  // Returns false after a stop. A negative descriptor waits for the stop alone.
  [[nodiscard]] bool until_readable(int descriptor) const;
  [[nodiscard]] bool until_writable(int descriptor) const;

  // The same with a timeout.
  enum class Outcome { readable, stopped, time_over };
  [[nodiscard]] Outcome until_readable(int descriptor, std::chrono::milliseconds time) const;

  // Returns true after the given time, false after a stop.
  [[nodiscard]] bool for_time(std::chrono::milliseconds time) const;

 private:
  [[nodiscard]] bool until(int descriptor, short events, int timeout_ms) const {
    return wait(descriptor, events, timeout_ms) != Outcome::stopped;
  }
  [[nodiscard]] Outcome wait(int descriptor, short events, int timeout_ms) const;
  void wake() const;

  // Polling interval for stops. Used if no descriptor was left for the event, or if the event has already
  // announced a limit.
  static constexpr int look_ms = 20;
  Descriptor event_;
  mutable std::atomic<bool> stopped_ = false;
  mutable std::atomic<int> patience_ms_ = -1;  // -1: no limit
  std::stop_callback<std::function<void()>> on_stop_;
};

}  // namespace millrace
