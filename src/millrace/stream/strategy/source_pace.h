// SourcePace: decides whether a worker keeps the source to itself.
#pragma once

#include "millrace/base/error/clock.h"

#include <algorithm>
#include <cstdint>

namespace millrace::stream {

// When another thread takes over an item, the cache lines of the item, the source and the in-order stages
// move too. This takes several hundred nanoseconds. If items take less, a single worker is faster and keeps
// the source. It keeps it for a burst of items at a time, because the others cannot help during a burst. If a
// burst took long, it shares the source again, and the delay before the next attempt doubles. So work whose
// items differ much is shared after a few attempts. Other workers end a burst that reaches long items, see
// KeeperWatch.
//
// Used by one worker. Pure except for the clock, which next_burst() reads occasionally.
class SourcePace {
 public:
  // Items that take longer should be shared.
  static constexpr std::int64_t worth_sharing_ns = 500;

  // How many items to take in a row, at least 1. Called when the previous burst is done.
  template <class Clock = std::int64_t (*)()> [[nodiscard]] int next_burst(Clock clock = now_ns) {
    if (!keeps_ && --until_check_ != 0) return 1;
    check(clock());
    return keeps_ ? burst : 1;
  }

  // The worker waited or did other work, so the time since the last check is meaningless.
  void interrupt() {
    if (keeps_) return;
    until_check_ = sample;
    since_ns_ = 0;
  }

 private:
  static constexpr int sample = 16;
  static constexpr int burst = 64;
  // As seen by a worker that shares, for which items take longer.
  static constexpr std::int64_t worth_keeping_ns = 1000;
  static constexpr int longest_delay = 4096;  // in samples

  void check(std::int64_t now) {
    const std::int64_t elapsed = now - since_ns_;
    if (since_ns_ == 0) {
      // The first check after an interruption only starts the measurement.
    } else if (keeps_) {
      if (elapsed > burst * worth_sharing_ns) {
        keeps_ = false;
        delay_ = std::min(2 * delay_, longest_delay);
        samples_to_wait_ = delay_;
      }
    } else if (samples_to_wait_ > 0) {
      --samples_to_wait_;
    } else {
      keeps_ = elapsed < sample * worth_keeping_ns;
    }
    since_ns_ = now;
    until_check_ = sample;
  }

  bool keeps_ = false;
  int until_check_ = 1;
  std::int64_t since_ns_ = 0;
  int delay_ = 1;
  int samples_to_wait_ = 0;
};

}  // namespace millrace::stream
