// Later: a thread that runs tasks after a delay and in random order.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace millrace::stream {

// Simulates an external service that stages wait for.
class Later {
 public:
  explicit Later(std::uint32_t seed = 1) : random_(seed), thread_([this] { work(); }) {}
  ~Later() { end(); }
  Later(const Later&) = delete;
  Later& operator=(const Later&) = delete;

  // Thread-safe. If it throws std::bad_alloc, the task is not posted.
  void post(std::move_only_function<void()> task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_one();
  }
  // Returns when all posted tasks are done. Nothing may be posted afterwards.
  void end() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
      changed_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return over_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      // Sometimes lets several tasks accumulate, so that they run in random order.
      if (!over_ && random_() % 8 == 0) {
        lock.unlock();
        std::this_thread::sleep_for(std::chrono::microseconds(random_() % 100));
        lock.lock();
      }
      std::swap(tasks_[random_() % tasks_.size()], tasks_.back());
      {
        auto task = std::exchange(tasks_.back(), nullptr);
        tasks_.pop_back();
        lock.unlock();
        task();
      }
      lock.lock();
    }
  }

  std::minstd_rand random_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::move_only_function<void()>> tasks_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace millrace::stream
