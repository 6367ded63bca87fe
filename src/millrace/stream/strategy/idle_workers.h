// IdleWorkers: who of the workers looks for work, who sleeps, and when one is woken.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

namespace millrace::stream {

// A worker without work searches for a bounded time and then sleeps. Whoever makes work wakes one sleeper,
// unless somebody searches already: the searcher will find the work, and when the last searcher has found
// some it wakes the next. So one wake-up is under way at a time, however much work appears at once. (The
// protocol of Go's scheduler.) README.md has the argument that no work is left lying while all sleep.
//
// Thread-safe.
class IdleWorkers {
 public:
  // Work has been made visible by a sequentially consistent store or read-modify-write.
  void announce_work() {
    // seq_cst: comes after that store; see sleep().
    const std::uint64_t state = state_.load(std::memory_order_seq_cst);
    if (searching(state) == 0 && sleeping(state) != 0) wake_one();
  }

  void begin_search() { state_.fetch_add(one_searching, std::memory_order_seq_cst); }
  // The searcher has found work. If there is more, and nobody is left to find it, somebody is woken.
  template <class WorkLeft> void end_search(const WorkLeft& work_left) {
    if (searching(state_.fetch_sub(one_searching, std::memory_order_seq_cst)) == 1 && work_left())
      announce_work();
  }

  static constexpr std::int64_t forever = std::numeric_limits<std::int64_t>::max();

  // From searching to sleep. `work_left()` looks once more, with sequentially consistent loads, at everything
  // that announce_work() is called for; if there is something, or when woken, the caller is searching again
  // on return. The same after `patience()` nanoseconds, which is asked for behind that look; then the return
  // value is false.
  template <class WorkLeft, class Patience> bool sleep(const WorkLeft& work_left, const Patience& patience) {
    // seq_cst: either the look that follows sees the work, or its maker sees a sleeper.
    state_.fetch_add(one_sleeping - one_searching, std::memory_order_seq_cst);
    if (work_left() && stay_awake()) return true;
    if (await_permit(patience())) return true;
    if (stay_awake()) return false;
    // Woken at the last moment: the permit is there.
    return await_permit(forever);
  }
  template <class WorkLeft> void sleep(const WorkLeft& work_left) {
    sleep(work_left, [] { return forever; });
  }

  // Wakes all, once, and those that go to sleep later not at all: they see the end as work that is left.
  void wake_all();

 private:
  static constexpr std::uint64_t one_sleeping = 1;
  static constexpr std::uint64_t one_searching = std::uint64_t{1} << 32;
  static constexpr std::uint64_t sleeping(std::uint64_t state) { return state & (one_searching - 1); }
  static constexpr std::uint64_t searching(std::uint64_t state) { return state >> 32; }

  void wake_one();
  // Takes one off the sleepers, without a wake-up, and counts it as searching. Whose number it is does not
  // matter: false when all have been woken, so that there is a permit for the caller.
  bool stay_awake();
  // False if there was none for so long.
  bool await_permit(std::int64_t patience_ns);

  alignas(128) std::atomic<std::uint64_t> state_ = 0;
  // Wake-ups under way: each lets one sleeper go.
  alignas(128) std::atomic<std::uint32_t> permits_ = 0;
};

}  // namespace millrace::stream
