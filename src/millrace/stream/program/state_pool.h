// StatePool: lends per-call state to the function of a stage.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace millrace::stream {

// Creates states on demand, up to the highest number of concurrent calls. Lends the most recently returned
// state first, because its memory is probably still cached. Thread-safe. Only one thread at a time calls
// `make`.
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

  // Throws the exceptions of `make`, and std::bad_alloc.
  [[nodiscard]] Borrowed borrow() { return {*this, take()}; }

 private:
  [[nodiscard]] std::unique_ptr<State> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) {
      // Reserve the room for its return, so that returning it cannot fail.
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
  // Guarded by the mutex:
  std::vector<std::unique_ptr<State>> idle_;
  std::size_t made_ = 0;
};

}  // namespace millrace::stream
