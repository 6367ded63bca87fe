// Mailbox: how one leader hands one job at a time to one worker and waits for it. README.md has the states
// and the argument that no wake-up is lost.
#pragma once

#include "millrace/pool/function_ref.h"
#include "millrace/pool/wake_elsewhere.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>

namespace millrace::pool {

// Two cache lines of 64 bytes: Intel's spatial prefetcher fetches lines in such pairs, and POWER's lines are
// as long.
inline constexpr std::size_t cache_line_pair = 128;

struct Job {
  FunctionRef<void(int rank)> work;  // empty: the worker is to end
  int rank = 0;
  // The worker may lead the workers [first_led, itself] while it does the job.
  int first_led = 0;
};

// Everything that passes between the two threads lies in one cache line, so a fork and a join of a worker
// that is awake cost one transfer of that line each.
//
// Thread-safety: one thread at a time is the leader (post, offer, await_done, take_back_or_await,
// take_error), one fixed thread is the worker (receive, finish). Who leads may change between two jobs, if
// the old leader's await_done or take_back_or_await happens before the new one's post or offer.
class alignas(cache_line_pair) Mailbox {
 public:
  // Hands over a job and wakes the worker if it sleeps. The worker must not have one already: on a new
  // mailbox, or after await_done or take_back_or_await.
  void post(const Job& job);

  // The same for a job that is worth its while only where the worker gets to it in time: to be followed by
  // take_back_or_await, not await_done. Costs the worker one more atomic step than post. elsewhere: a worker
  // that sleeps is not woken on the leader's CPU, where that can be helped; from the second time on.
  void offer(const Job& job, WakeUp wake = WakeUp::anywhere);

  // The job offered last: takes it back if the worker has not begun it, and returns true; else returns false
  // when the worker has finished it, as await_done does. So a worker whose CPU is taken by others is not
  // waited for unless it has begun. Only after offer.
  [[nodiscard]] bool take_back_or_await(std::int64_t linger_ns);

  // How long after the post of a job that had to wake its worker the leader may still poll. Waking takes 5 us
  // on bare metal and 20 to 50 us where the hypervisor has to be asked. A leader that fell asleep meanwhile
  // would be woken only after its worker has lingered and gone back to sleep, and so on: every fork would pay
  // two wake-ups for good.
  static constexpr std::int64_t wake_up_ns = 100'000;

  // Returns when the worker has finished the job posted last; at once when there was none. Spins for about
  // `linger_ns` at most, or until the worker has had wake_up_ns to wake up if it slept, then sleeps. Does not
  // spin with 0, nor when the worker was last seen on the CPU of the calling thread: it could not run there
  // meanwhile.
  void await_done(std::int64_t linger_ns);

  // What the worker passed to finish(); null if nothing went wrong. Clears it. Only after await_done.
  [[nodiscard]] std::exception_ptr take_error();

  // Waits for a job: spins for about `linger_ns` at most, then sleeps. Sleeps at once when the last leader
  // posted from the CPU that the worker finished on: it would be kept from running there.
  [[nodiscard]] Job receive(std::int64_t linger_ns);

  // Tells the leader that the job is done, or what it threw.
  void finish(std::exception_ptr error);

  // Whether the worker sleeps or is about to; true only for a moment's view unless the caller is the leader
  // and no job is posted: then the worker can fall asleep but not wake.
  [[nodiscard]] bool worker_asleep() const { return state_.load(std::memory_order_relaxed) == asleep; }

 private:
  enum State : std::uint32_t {
    idle,     // no job; the worker polls
    asleep,   // no job; the worker sleeps, or is about to
    offered,  // a job is here that the leader may take back; the worker has not begun it
    posted,   // a job is here or being done; the leader does not wait for it, or polls
    awaited,  // the same; the leader sleeps, or is about to
  };

  void hand_over(const Job& job, State as, WakeUp wake);
  // What has arrived.
  [[nodiscard]] Job accepted();

  std::atomic<std::uint32_t> state_ = idle;

  // Written by the leader in `idle` and `asleep`, read by the worker in `posted` and `awaited`.
  int leader_cpu_ = -1;
  WakeUp wake_ = WakeUp::anywhere;
  Job job_;

  // Written by the worker in `posted` and `awaited`, read by the leader in `idle` and `asleep`.
  std::exception_ptr error_;

  // Where the worker was last seen. A hint that the worker writes whenever it knows better (relaxed: nothing
  // depends on it but how long the leader polls).
  std::atomic<int> worker_cpu_ = -1;

  // Written by the worker before it sleeps, once it is to be woken elsewhere; a value of its own (relaxed: a
  // leader that does not see it yet wakes the worker anywhere).
  std::atomic<Wakeable> worker_ = Wakeable{};

  // The leader's own, about the job posted last.
  bool worker_beside_ = false;  // the worker was last seen on the leader's CPU
  std::int64_t awake_by_ = 0;   // when a worker that had to be woken should be running; 0 if it was awake

  // The worker's own.
  bool elsewhere_ = false;      // how the leader wakes it
  bool leader_beside_ = false;  // it finished its last job on the CPU that the job was posted from
};

static_assert(sizeof(Mailbox) == cache_line_pair);

}  // namespace millrace::pool
