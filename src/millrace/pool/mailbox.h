// Mailbox: passes one job at a time from a leader to a worker and waits for it. README.md lists the states
// and proves that no wake-up is lost.
#pragma once

#include "millrace/pool/function_ref.h"
#include "millrace/pool/wake_elsewhere.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>

namespace millrace::pool {

// Two cache lines of 64 bytes. Intel's spatial prefetcher fetches lines in such pairs, and POWER has 128-byte
// lines.
inline constexpr std::size_t cache_line_pair = 128;

struct Job {
  FunctionRef<void(int rank)> work;  // empty: the worker must exit
  int rank = 0;
  // During the job, the worker may lead the workers [first_led, itself].
  int first_led = 0;
};

// All communication between the two threads is in one cache line. If the worker is awake, a fork and a join
// each cost one transfer of that line.
//
// Thread-safety: one thread at a time is the leader (post, offer, await_done, take_back_or_await,
// take_error), and one fixed thread is the worker (receive, finish). The leader may change between two jobs,
// if the old leader's await_done or take_back_or_await happens before the new leader's post or offer.
class alignas(cache_line_pair) Mailbox {
 public:
  // Hands over a job and wakes the worker if it sleeps. The worker must not have a job: call this on a new
  // mailbox, or after await_done or take_back_or_await.
  void post(const Job& job);

  // Like post, but the leader may take the job back if the worker does not start in time. Must be followed by
  // take_back_or_await, not await_done. Costs the worker one more atomic operation than post.
  // WakeUp::elsewhere keeps a sleeping worker off the leader's CPU during the wake-up if possible; it takes
  // effect from the second time on.
  void offer(const Job& job, WakeUp wake = WakeUp::anywhere);

  // Takes the last offered job back and returns true if the worker has not started it. Otherwise waits until
  // the worker has finished, like await_done, and returns false. The leader therefore never waits for a
  // worker that has lost its CPU before it started. Only after offer.
  [[nodiscard]] bool take_back_or_await(std::int64_t linger_ns);

  // How long after a post that had to wake the worker the leader may keep polling. A wake-up takes 5 us on
  // bare metal, and 20 to 50 us if the hypervisor is involved. A leader that falls asleep earlier is woken
  // only after its worker has lingered and gone back to sleep. From then on every fork would pay for two
  // wake-ups.
  static constexpr std::int64_t wake_up_ns = 100'000;

  // Returns when the worker has finished the last posted job, or at once if there was none. Polls for about
  // `linger_ns`, extended to wake_up_ns after a post that woke the worker, and then sleeps. Does not poll if
  // `linger_ns` is 0. Also does not poll if the worker was last seen on the calling thread's CPU, because
  // polling would keep it from running there.
  void await_done(std::int64_t linger_ns);

  // The exception that the worker passed to finish(), or null. Clears it. Only after await_done.
  [[nodiscard]] std::exception_ptr take_error();

  // Waits for a job: polls for about `linger_ns`, then sleeps. Sleeps at once if the last leader posted from
  // the CPU on which the worker finished, because polling would keep the leader from running there.
  [[nodiscard]] Job receive(std::int64_t linger_ns);

  // Reports to the leader that the job is done, with the exception if it threw.
  void finish(std::exception_ptr error);

  // Whether the worker sleeps or is about to. The answer may be outdated, unless the caller is the leader and
  // no job is posted: then the worker can fall asleep but not wake.
  [[nodiscard]] bool worker_asleep() const { return state_.load(std::memory_order_relaxed) == asleep; }

 private:
  enum State : std::uint32_t {
    idle,     // no job; the worker polls
    asleep,   // no job; the worker sleeps, or is about to
    offered,  // has a job that the leader may take back; the worker has not started it
    posted,   // has a job; the leader does not wait for it yet, or polls
    awaited,  // the same, but the leader sleeps, or is about to
  };

  void hand_over(const Job& job, State as, WakeUp wake);
  // The job that has arrived.
  [[nodiscard]] Job accepted();

  std::atomic<std::uint32_t> state_ = idle;

  // Written by the leader in `idle` and `asleep`, read by the worker in `posted` and `awaited`.
  int leader_cpu_ = -1;
  WakeUp wake_ = WakeUp::anywhere;
  Job job_;

  // Written by the worker in `posted` and `awaited`, read by the leader in `idle` and `asleep`.
  std::exception_ptr error_;

  // The CPU on which the worker was last seen. A hint that the worker updates at any time. Relaxed, because
  // it only affects how long the leader polls.
  std::atomic<int> worker_cpu_ = -1;

  // Written once by the worker before it sleeps, if it must be woken elsewhere. Independent of all other
  // fields. Relaxed: a leader that does not see it yet wakes the worker on any CPU.
  std::atomic<Wakeable> worker_ = Wakeable{};

  // Used only by the leader, about the last posted job.
  bool worker_beside_ = false;  // the worker was last seen on the leader's CPU
  std::int64_t awake_by_ = 0;   // when a worker that had to be woken should be running; 0 if it was awake

  // Used only by the worker.
  bool elsewhere_ = false;      // how the leader wakes it
  bool leader_beside_ = false;  // it finished its last job on the CPU from which the job was posted
};

static_assert(sizeof(Mailbox) == cache_line_pair);

}  // namespace millrace::pool
