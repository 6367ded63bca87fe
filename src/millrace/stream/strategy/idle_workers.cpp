#include "millrace/stream/strategy/idle_workers.h"

#include "millrace/base/error/clock.h"
#include "millrace/pool/futex.h"

namespace millrace::stream {

bool IdleWorkers::stay_awake() {
  std::uint64_t state = state_.load(std::memory_order_seq_cst);
  while (sleeping(state) != 0)
    if (state_.compare_exchange_weak(state, state - one_sleeping + one_searching, std::memory_order_seq_cst))
      return true;
  return false;
}

void IdleWorkers::wake_one() {
  std::uint64_t state = state_.load(std::memory_order_seq_cst);
  while (searching(state) == 0 && sleeping(state) != 0)
    if (state_.compare_exchange_weak(state, state - one_sleeping + one_searching,
                                     std::memory_order_seq_cst)) {
      // release: the earlier writes of the thread that made the work.
      permits_.fetch_add(1, std::memory_order_release);
      pool::futex_wake_one(permits_);
      return;
    }
}

void IdleWorkers::wake_all() {
  while (stay_awake()) {
    permits_.fetch_add(1, std::memory_order_release);
    pool::futex_wake_one(permits_);
  }
}

bool IdleWorkers::await_permit(std::int64_t patience_ns) {
  const std::int64_t until = patience_ns == forever ? forever : now_ns() + patience_ns;
  for (;;) {
    std::uint32_t permits = permits_.load(std::memory_order_relaxed);
    while (permits != 0)
      if (permits_.compare_exchange_weak(permits, permits - 1, std::memory_order_acquire,
                                         std::memory_order_relaxed))
        return true;
    if (until == forever) {
      pool::futex_wait(permits_, 0);
      continue;
    }
    const std::int64_t left_ns = until - now_ns();
    if (left_ns <= 0) return false;
    pool::futex_wait_for(permits_, 0, left_ns);
  }
}

}  // namespace millrace::stream
