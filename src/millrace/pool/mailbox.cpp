#include "millrace/pool/mailbox.h"

#include "millrace/base/error/clock.h"
#include "millrace/pool/futex.h"
#include "millrace/pool/spin.h"

#include <algorithm>
#include <sched.h>
#include <utility>

namespace millrace::pool {

void Mailbox::post(const Job& job) { hand_over(job, posted, WakeUp::anywhere); }

void Mailbox::offer(const Job& job, WakeUp wake) { hand_over(job, offered, wake); }

void Mailbox::hand_over(const Job& job, State as, WakeUp wake) {
  wake_ = wake;
  job_ = job;
  leader_cpu_ = sched_getcpu();
  worker_beside_ = leader_cpu_ == worker_cpu_.load(std::memory_order_relaxed);
  awake_by_ = 0;
  // release: publishes the job, and everything the leader wrote before, to the acquire in receive(). An
  // exchange instead of a store, because its result decides whether to wake the worker. Between a load and a
  // store the worker could fall asleep unnoticed.
  if (state_.exchange(as, std::memory_order_release) == asleep) {
    const KeptOff elsewhere(worker_.load(std::memory_order_relaxed),
                            wake == WakeUp::elsewhere ? leader_cpu_ : -1);
    futex_wake_one(state_);
    awake_by_ = now_ns() + wake_up_ns;
  }
}

bool Mailbox::take_back_or_await(std::int64_t linger_ns) {
  // relaxed: it publishes nothing, and on failure await_done() loads the state again. A worker that was woken
  // for the job checks the state before it sleeps again.
  std::uint32_t expected = offered;
  if (state_.compare_exchange_strong(expected, idle, std::memory_order_relaxed, std::memory_order_relaxed))
    return true;
  awake_by_ = 0;  // the worker is awake
  await_done(linger_ns);
  return false;
}

void Mailbox::await_done(std::int64_t linger_ns) {
  // acquire: pairs with the release in finish(). The worker's results are visible from here on.
  const auto done = [this] {
    const std::uint32_t state = state_.load(std::memory_order_acquire);
    return state == idle || state == asleep;
  };
  std::int64_t polling_ns = worker_beside_ ? 0 : linger_ns;
  if (polling_ns > 0 && awake_by_ != 0 && !done()) polling_ns = std::max(polling_ns, awake_by_ - now_ns());
  if (spin_until(done, polling_ns)) return;
  // Announces the sleep. relaxed: it publishes nothing, and done() checks again after a failure.
  std::uint32_t expected = posted;
  state_.compare_exchange_strong(expected, awaited, std::memory_order_relaxed, std::memory_order_relaxed);
  while (!done())
    futex_wait(state_, awaited);
}

std::exception_ptr Mailbox::take_error() {
  // Must not write in the common case, because the worker is about to poll this cache line.
  return error_ ? std::exchange(error_, nullptr) : nullptr;
}

Job Mailbox::accepted() {
  elsewhere_ = wake_ == WakeUp::elsewhere;
  return job_;
}

Job Mailbox::receive(std::int64_t linger_ns) {
  // acquire: pairs with the release in hand_over(). An offered job belongs to the thread that changes the
  // state first: the worker here, or the leader in take_back_or_await().
  const auto arrived = [this] {
    std::uint32_t state = state_.load(std::memory_order_acquire);
    if (state == offered)
      return state_.compare_exchange_strong(state, posted, std::memory_order_acquire,
                                            std::memory_order_relaxed);
    return state == posted || state == awaited;
  };
  if (spin_until(arrived, leader_beside_ ? 0 : linger_ns)) return accepted();
  worker_cpu_.store(sched_getcpu(), std::memory_order_relaxed);
  if (elsewhere_ && worker_.load(std::memory_order_relaxed).thread == 0)
    worker_.store(Wakeable::here(), std::memory_order_relaxed);
  for (;;) {
    // Announces the sleep, again if the job that woke the worker was taken back. relaxed: it publishes
    // nothing. A failure means that a job has arrived, which arrived() sees, or that the sleep is already
    // announced.
    std::uint32_t expected = idle;
    state_.compare_exchange_strong(expected, asleep, std::memory_order_relaxed, std::memory_order_relaxed);
    if (arrived()) return accepted();
    futex_wait(state_, asleep);
  }
}

void Mailbox::finish(std::exception_ptr error) {
  if (error) error_ = std::move(error);
  const int own_cpu = sched_getcpu();
  worker_cpu_.store(own_cpu, std::memory_order_relaxed);
  leader_beside_ = own_cpu == leader_cpu_;
  // release: publishes the worker's results to the acquire in await_done(). An exchange for the same reason
  // as in hand_over(): the leader may fall asleep between a load and a store.
  if (state_.exchange(idle, std::memory_order_release) == awaited) futex_wake_one(state_);
}

}  // namespace millrace::pool
