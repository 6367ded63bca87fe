// Watchdog: turns a hanging test into a failure that names the test.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace millrace::stream {

// Aborts the process if the watchdog still exists after `patience`. A run that does not return cannot be
// abandoned in any other way.
class Watchdog {
 public:
  explicit Watchdog(std::string what, std::chrono::seconds patience = std::chrono::seconds(120))
      : thread_([this, what = std::move(what), patience] {
          std::unique_lock lock(mutex_);
          if (over_.wait_for(lock, patience, [&] { return done_; })) return;
          fmt::print(stderr, "no end after {} s: {}\n", patience.count(), what);
          std::abort();
        }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    over_.notify_one();
    thread_.join();
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable over_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace millrace::stream
