// IdleWorkers: tracks which workers search for work, which sleep, and when to wake one.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

namespace millrace::stream {

// A worker without work searches for a bounded time and then sleeps. A thread that makes work wakes one
// sleeper, unless a worker is already searching. The searcher will find the work, and when the last searcher
// finds some, it wakes the next. So only one wake-up is in progress at a time, however much work appears at
// once. (This is the protocol of Go's scheduler.) README.md argues that work is never left while all workers
// sleep.
//
// Thread-safe.
class IdleWorkers {
 public:
  // Call this after you published work by a sequentially consistent store or read-modify-write.
  void announce_work() {
    // seq_cst: comes after that store; see sleep().
    const std::uint64_t state = state_.load(std::memory_order_seq_cst);
    if (searching(state) == 0 && sleeping(state) != 0) wake_one();
  }

  void begin_search() { state_.fetch_add(one_searching, std::memory_order_seq_cst); }
  // The searcher has found work. If there is more and no searcher is left, wakes a sleeper.
  template <class WorkLeft> void end_search(const WorkLeft& work_left) {
    if (searching(state_.fetch_sub(one_searching, std::memory_order_seq_cst)) == 1 && work_left())
      announce_work();
  }

  static constexpr std::int64_t forever = std::numeric_limits<std::int64_t>::max();

  // Goes from searching to sleep. `work_left()` checks once more, with sequentially consistent loads, all
  // sources of work that announce_work() covers. If there is work, or when woken, the caller is searching
  // again on return. The same after `patience()` nanoseconds, but then it returns false. `patience` is called
  // after the check.
  template <class WorkLeft, class Patience> bool sleep(const WorkLeft& work_left, const Patience& patience) {
    // seq_cst: either the following check sees the work, or its maker sees a sleeper.
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

  // Wakes all sleepers, once. Later callers of sleep() stay awake only if `work_left()` reports the end as
  // work.
  void wake_all();

 private:
  static constexpr std::uint64_t one_sleeping = 1;
  static constexpr std::uint64_t one_searching = std::uint64_t{1} << 32;
  static constexpr std::uint64_t sleeping(std::uint64_t state) { return state & (one_searching - 1); }
  static constexpr std::uint64_t searching(std::uint64_t state) { return state >> 32; }

  void wake_one();
  // Counts one sleeper as searching, without a wake-up. Sleepers are interchangeable, so the count suffices.
  // False if all have been woken, so that there is a permit for the caller.
  bool stay_awake();
  // False if there was none within that time.
  bool await_permit(std::int64_t patience_ns);

  alignas(128) std::atomic<std::uint64_t> state_ = 0;
  // Pending wake-ups: each releases one sleeper.
  alignas(128) std::atomic<std::uint32_t> permits_ = 0;
};

}  // namespace millrace::stream
