// StatePool: state of a stage's function for whoever calls it at the moment.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace millrace::stream {

// As many states as there are calls at once, made when they are needed; a thread mostly gets the one that it
// had before. Thread-safe; `make` is called by one thread at a time.
template <class State, class Make> class StatePool {
 public:
  explicit StatePool(Make make) : make_(std::move(make)) {}
  ~StatePool() {
    for (Place& place : places_)
      delete place.state.load(std::memory_order_acquire);
  }
  StatePool(const StatePool&) = delete;
  StatePool& operator=(const StatePool&) = delete;

  class Borrowed {
   public:
    Borrowed(StatePool& pool, std::unique_ptr<State> state) : pool_(pool), state_(std::move(state)) {}
    ~Borrowed() { pool_.give_back(std::move(state_)); }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    [[nodiscard]] State& operator*() const { return *state_; }

   private:
    StatePool& pool_;
    std::unique_ptr<State> state_;
  };

  // Throws what `make` throws.
  [[nodiscard]] Borrowed borrow() { return {*this, take()}; }

 private:
  static constexpr std::size_t places = 16;

  struct alignas(64) Place {
    std::atomic<State*> state = nullptr;
  };

  [[nodiscard]] Place& mine() {
    static std::atomic<std::size_t> threads = 0;
    thread_local const std::size_t own = threads.fetch_add(1, std::memory_order_relaxed);
    return places_[own % places];
  }

  [[nodiscard]] std::unique_ptr<State> take() {
    // acquire: what the last call wrote to the state.
    if (State* const found = mine().state.exchange(nullptr, std::memory_order_acquire))
      return std::unique_ptr<State>(found);
    const std::lock_guard lock(mutex_);
    if (!others_.empty()) {
      std::unique_ptr<State> state = std::move(others_.back());
      others_.pop_back();
      return state;
    }
    // Room to give it back, so that this cannot fail.
    others_.reserve(made_ + 1);
    std::unique_ptr<State> state(new State(make_()));
    ++made_;
    return state;
  }

  void give_back(std::unique_ptr<State> state) {
    if (!state) return;
    State* none = nullptr;
    // release: what the call wrote to the state.
    if (mine().state.compare_exchange_strong(none, state.get(), std::memory_order_release,
                                             std::memory_order_relaxed)) {
      state.release();
      return;
    }
    const std::lock_guard lock(mutex_);
    others_.push_back(std::move(state));
  }

  Make make_;
  std::array<Place, places> places_;
  std::mutex mutex_;
  // With the mutex held:
  std::vector<std::unique_ptr<State>> others_;
  std::size_t made_ = 0;
};

}  // namespace millrace::stream
