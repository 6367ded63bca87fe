// RunControl: what other threads may do with a run in progress: stop it, and ask how far it is.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <stop_token>

namespace millrace::run {

// Progress of a run.
struct RunProgress {
  std::int64_t frames = 0;            // processed and handed to the sink
  std::optional<std::int64_t> total;  // if the source knows it; can be wrong
};

// Any thread, at any time.
class RunControl {
 public:
  void stop() { stop_.request_stop(); }
  [[nodiscard]] bool stopped() const { return stop_.stop_requested(); }
  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }

  void frames(std::int64_t done) { frames_.store(done, std::memory_order_relaxed); }
  void total(std::int64_t frames) { total_.store(frames, std::memory_order_relaxed); }
  [[nodiscard]] RunProgress progress() const {
    RunProgress progress{.frames = frames_.load(std::memory_order_relaxed)};
    if (const std::int64_t total = total_.load(std::memory_order_relaxed); total >= 0) progress.total = total;
    return progress;
  }

 private:
  std::stop_source stop_;
  // Relaxed: counts for display, they publish no other data.
  std::atomic<std::int64_t> frames_ = 0;
  std::atomic<std::int64_t> total_ = -1;  // negative: unknown
};

}  // namespace millrace::run
