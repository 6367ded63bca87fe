// StatePool: state of a stage's function for whoever calls it at the moment.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace millrace::stream {

// As many states as there ever were calls at once, made when they are needed; the one that was given back
// last is lent first, as its memory is in a cache. Thread-safe; `make` is called by one thread at a time.
template <class State, class Make> class StatePool {
 public:
  explicit StatePool(Make make) : make_(std::move(make)) {}

  class Borrowed {
   public:
    Borrowed(StatePool& pool, std::unique_ptr<State> state) : pool_(pool), state_(std::move(state)) {}
    ~Borrowed() {
      const std::lock_guard lock(pool_.mutex_);
      pool_.idle_.push_back(std::move(state_));
    }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    [[nodiscard]] State& operator*() const { return *state_; }

   private:
    StatePool& pool_;
    std::unique_ptr<State> state_;
  };

  // Throws what `make` throws, and std::bad_alloc.
  [[nodiscard]] Borrowed borrow() { return {*this, take()}; }

 private:
  [[nodiscard]] std::unique_ptr<State> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) {
      // Room to give it back, so that this cannot fail.
      idle_.reserve(made_ + 1);
      std::unique_ptr<State> state(new State(make_()));
      ++made_;
      return state;
    }
    std::unique_ptr<State> state = std::move(idle_.back());
    idle_.pop_back();
    return state;
  }

  Make make_;
  std::mutex mutex_;
  // With the mutex held:
  std::vector<std::unique_ptr<State>> idle_;
  std::size_t made_ = 0;
};

}  // namespace millrace::stream
