// StoppableWait: waiting for a descriptor until told to stop.
#pragma once

#include "millrace/base/descriptor.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <stop_token>

namespace millrace {

// Ends its waits, those under way and all later ones, when the token is asked to stop or stop() is called.
// Thread-safe.
class StoppableWait {
 public:
  explicit StoppableWait(const std::stop_token& stop = {});
  StoppableWait(const StoppableWait&) = delete;
  StoppableWait& operator=(const StoppableWait&) = delete;

  void stop() const;
  [[nodiscard]] bool is_stopped() const { return stopped_.load(std::memory_order_acquire); }
  // Ends every wait, those under way and all later ones, once it has lasted so long: as a stop would.
  void limit(std::chrono::milliseconds patience) const;

  // True once the descriptor can be read (written), has failed or was closed at the other end; false once
  // stopped. A negative descriptor is waited for until stopped.
  [[nodiscard]] bool until_readable(int descriptor) const;
  [[nodiscard]] bool until_writable(int descriptor) const;

  // The same, but no longer than for some time.
  enum class Outcome { readable, stopped, time_over };
  [[nodiscard]] Outcome until_readable(int descriptor, std::chrono::milliseconds time) const;

  // True once the time is over, false once stopped.
  [[nodiscard]] bool for_time(std::chrono::milliseconds time) const;

 private:
  [[nodiscard]] bool until(int descriptor, short events, int timeout_ms) const {
    return wait(descriptor, events, timeout_ms) != Outcome::stopped;
  }
  [[nodiscard]] Outcome wait(int descriptor, short events, int timeout_ms) const;
  void wake() const;

  // Out of descriptors there is no event, or it has told of a limit: waits look so often whether they were
  // stopped.
  static constexpr int look_ms = 20;
  Descriptor event_;
  mutable std::atomic<bool> stopped_ = false;
  mutable std::atomic<int> patience_ms_ = -1;  // none
  std::stop_callback<std::function<void()>> on_stop_;
};

}  // namespace millrace
