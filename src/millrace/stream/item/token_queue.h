// TokenQueue: tokens that wait for any thread of a group.
#pragma once

#include "millrace/stream/item/token.h"
#include "millrace/stream/item/token_list.h"

#include <condition_variable>
#include <cstddef>
#include <limits>
#include <mutex>

namespace millrace::stream {

// First in, first out. Allocates no memory. Thread-safe.
class TokenQueue {
 public:
  static constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

  // capacity >= 1.
  explicit TokenQueue(std::size_t capacity = unbounded) : capacity_(capacity) {}

  [[nodiscard]] bool try_push(Token* token) {
    {
      const std::lock_guard lock(mutex_);
      if (size_ >= capacity_) return false;
      add(token);
    }
    not_empty_.notify_one();
    return true;
  }

  // Waits for room.
  void push(Token* token) {
    {
      std::unique_lock lock(mutex_);
      not_full_.wait(lock, [&] { return size_ < capacity_; });
      add(token);
    }
    not_empty_.notify_one();
  }

  // Ignores the capacity, for callers that must not wait. The number of such tokens is bounded elsewhere.
  void push_beyond(Token* token) {
    {
      const std::lock_guard lock(mutex_);
      add(token);
    }
    not_empty_.notify_one();
  }

  [[nodiscard]] Token* try_pop() {
    std::unique_lock lock(mutex_);
    return tokens_.empty() ? nullptr : take(lock);
  }

  // The first token for which `matches` is true. Null if there is none.
  template <class Matches> [[nodiscard]] Token* try_pop_if(const Matches& matches) {
    std::unique_lock lock(mutex_);
    Token* const token = tokens_.pop_first(matches);
    if (!token) return nullptr;
    taken(lock);
    return token;
  }

  // From now on there is always room.
  void lift_capacity() {
    {
      const std::lock_guard lock(mutex_);
      capacity_ = unbounded;
    }
    not_full_.notify_all();
  }

  // Waits for a token. Returns null if the queue is closed and empty.
  [[nodiscard]] Token* pop() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    not_empty_.wait(lock, [&] { return !tokens_.empty() || closed_; });
    --waiting_;
    return tokens_.empty() ? nullptr : take(lock);
  }

  // Nothing may be pushed afterwards.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    not_empty_.notify_all();
  }

  // Whether there are more tokens than threads waiting in pop().
  [[nodiscard]] bool is_short_of_threads() const {
    const std::lock_guard lock(mutex_);
    return size_ > waiting_;
  }

 private:
  void add(Token* token) {
    tokens_.push_back(token);
    ++size_;
  }
  [[nodiscard]] Token* take(std::unique_lock<std::mutex>& lock) {
    Token* const token = tokens_.pop_front();
    taken(lock);
    return token;
  }
  void taken(std::unique_lock<std::mutex>& lock) {
    --size_;
    const bool had_limit = capacity_ != unbounded;
    lock.unlock();
    if (had_limit) not_full_.notify_one();
  }

  mutable std::mutex mutex_;
  std::size_t capacity_;
  std::condition_variable not_empty_;
  std::condition_variable not_full_;
  TokenList tokens_;
  std::size_t size_ = 0;
  std::size_t waiting_ = 0;
  bool closed_ = false;
};

}  // namespace millrace::stream
