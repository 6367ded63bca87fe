// Inlet: lets other threads put items into a stream during its run.
//
//   auto [flow, in] = stream::inlet<Request>("requests", 64);
//   auto stream = std::move(flow).stage(...).sink(...);
//   auto running = stream->start();
//   in.push(request);        // any thread, any number of them
//   in.close();              // no more
//   const Finished& finished = running->wait();
#pragma once

#include "millrace/stream/flow.h"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>

namespace millrace::stream {

// The queue between the pushing threads and the stream's source. Thread-safe.
template <Item T> class InletQueue {
 public:
  explicit InletQueue(std::size_t capacity) : capacity_(capacity) {}

  [[nodiscard]] bool push(T& item, bool wait) {
    std::unique_lock lock(mutex_);
    const auto ready = [this] { return closed_ || over_ || items_.size() < capacity_; };
    if (wait) changed_.wait(lock, ready);
    if (closed_ || over_ || items_.size() >= capacity_) return false;
    items_.push_back(std::move(item));
    changed_.notify_all();
    return true;
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  // Waits for the next item and moves it to `place`. Returns false at the end and after a stop.
  [[nodiscard]] bool take(const std::stop_token& stop, void* place) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [this] { return closed_ || !items_.empty(); });
    if (items_.empty() || stop.stop_requested()) return false;
    std::construct_at(static_cast<T*>(place), std::move(items_.front()));
    items_.pop_front();
    changed_.notify_all();
    return true;
  }
  void run_begins() {
    const std::lock_guard lock(mutex_);
    over_ = false;
  }
  // Destroys the remaining items and releases threads that wait for room.
  void run_ended() {
    const std::lock_guard lock(mutex_);
    over_ = true;
    closed_ = false;
    items_.clear();
    changed_.notify_all();
  }

 private:
  const std::size_t capacity_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  // Guarded by the mutex:
  std::deque<T> items_;
  bool closed_ = false;
  bool over_ = false;  // a run has ended and the next has not begun
};

// The producers' handle: small, freely copied, and allowed to outlive the stream. Thread-safe.
template <Item T> class Inlet {
 public:
  explicit Inlet(std::shared_ptr<InletQueue<T>> queue) : queue_(std::move(queue)) {}

  // Waits for room. If the inlet was closed or the run is over, destroys the item and returns false.
  [[nodiscard]] bool push(T item) const { return queue_->push(item, true); }
  // Does not wait. If it returns false, the caller keeps the item.
  [[nodiscard]] bool try_push(T& item) const { return queue_->push(item, false); }
  // Ends the stream after the items that were already pushed.
  void close() const { queue_->close(); }

 private:
  std::shared_ptr<InletQueue<T>> queue_;
};

template <Item T> class InletSource final : public SourceFunction {
 public:
  InletSource(std::shared_ptr<InletQueue<T>> queue, std::function<std::size_t(const T&)> bytes)
      : queue_(std::move(queue)), bytes_(std::move(bytes)) {}

  Made next(const std::stop_token& stop, void* place, Emission& /*out*/) override {
    if (!queue_->take(stop, place)) return {};
    T& item = *static_cast<T*>(place);
    if (!bytes_) return {true, sizeof(T)};
    try {
      return {true, bytes_(item)};
    } catch (...) {
      std::destroy_at(&item);
      throw;
    }
  }
  void run_begins() override { queue_->run_begins(); }
  void run_ended() override { queue_->run_ended(); }

 private:
  std::shared_ptr<InletQueue<T>> queue_;
  std::function<std::size_t(const T&)> bytes_;
};

template <Item T> struct Opened {
  Flow<T> flow;
  Inlet<T> inlet;
};

// Starts a stream whose items are pushed, in the order of arrival. capacity: how many pushed items may wait
// for the source, at least 1. RunOptions limits the items in flight after that. Items may be pushed before
// the first run begins. Items that a run has not taken when it ends are destroyed.
template <Item T>
[[nodiscard]] Opened<T> inlet(std::string name, std::size_t capacity = 64,
                              std::function<std::size_t(const T&)> bytes = {}) {
  auto queue = std::make_shared<InletQueue<T>>(capacity < 1 ? 1 : capacity);
  const bool sized = static_cast<bool>(bytes);
  return {Flow<T>(FlowDraft(std::move(name), true, sized,
                            std::make_unique<InletSource<T>>(queue, std::move(bytes)))),
          Inlet<T>(queue)};
}

}  // namespace millrace::stream
