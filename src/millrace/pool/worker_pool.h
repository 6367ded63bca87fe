// WorkerPool: the process's worker threads, created once. A fork-join costs well under a microsecond.
#pragma once

#include "millrace/base/error/export.h"
#include "millrace/base/error/result.h"
#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/pool/mailbox.h"
#include "millrace/pool/team.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

namespace millrace::pool {

class PoolTeam;

// W workers, numbered 0 .. W-1. Worker W-1 is the thread that created the pool; the others are threads of the
// pool. Only the creating thread may use and destroy the pool.
//
// An idle worker polls for about `linger_ns`, then sleeps in the kernel and costs nothing. Workers that must
// share CPUs (see may_linger) sleep at once, because polling would keep the awaited thread from running.
class MILLRACE_EXPORT WorkerPool {
 public:
  // How long idle workers and waiting leaders poll. A sleep and wake-up take about 5 to 50 us; a longer
  // linger wastes CPU time that others could use (design, invariant 6).
  static constexpr std::int64_t linger_ns = 10'000;

  // Creates a pool of `workers` >= 1. For `bindings` see rebind(). Usage error if workers < 1 or a binding is
  // impossible; failure if the system refuses a thread. Cleans up on error.
  [[nodiscard]] static Result<std::unique_ptr<WorkerPool>>
  create(int workers, std::span<const machine::CpuSet> bindings = {});

  // Creates as many workers as the process may use, given the calling thread's affinity and the cgroup quota.
  [[nodiscard]] static Result<std::unique_ptr<WorkerPool>> create();

  // Ends and joins the workers. If the pool pinned the calling thread, restores the affinity that it had
  // before create().
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  [[nodiscard]] int size() const { return static_cast<int>(workers_.size()); }

  // All workers, led by the creating thread. Valid as long as the pool.
  [[nodiscard]] PoolTeam team();

  // Pins worker i to bindings[i]; the last worker is the calling thread. An empty set unpins the worker: it
  // may use all CPUs that the creating thread could use at creation. An empty span unpins all; any other size
  // than size() is a usage error. Call it only between runs, from the creating thread. On error the previous
  // bindings are restored and the error names the worker.
  //
  // Makes system calls only for changes. A pool that is never pinned makes none, and works even if pinning is
  // not permitted.
  [[nodiscard]] Status rebind(std::span<const machine::CpuSet> bindings);

  // The CPUs that the kernel granted to each worker, read back after pinning. For workers that were never
  // pinned, the CPUs of the creating thread. Empty sets if the kernel does not report them.
  [[nodiscard]] const std::vector<machine::CpuSet>& granted() const { return granted_; }

 private:
  friend class PoolTeam;

  struct alignas(cache_line_pair) Worker {
    Mailbox mailbox;
    // The rest is read-mostly, or used only by the worker itself.
    std::thread::id thread_id;
    int first_led = 0;                        // used only by the worker's own thread
    std::atomic<std::int64_t> linger_ns = 0;  // relaxed: a tuning value, publishes nothing
    std::thread thread;                       // empty for the last worker
  };

  explicit WorkerPool(int workers);

  void serve(Worker& worker);
  // Pins each worker i to sets[i] unless it already is, and stores the granted sets. On error, stores only
  // those of the workers that were pinned successfully.
  [[nodiscard]] Status bind_to(std::span<const machine::CpuSet> sets);
  void set_lingers();

  machine::CpuSet home_;  // the creator's CPUs; empty if unknown
  std::vector<Worker> workers_;
  std::vector<machine::CpuSet> granted_;
};

// A contiguous range of a pool's workers, led by the last of them. A small value that can be copied freely.
// It must not outlive the pool.
//
// Busy workers cannot be called: each worker is led by exactly one thread at any time. run_last reserves the
// other members for the leader, run_teams lends each part to its leader, and both end that when they return.
// Usage errors: a call from another thread, on a kept team whose workers are lent elsewhere, or on a running
// team. The check compares two numbers that only the calling thread writes.
class MILLRACE_EXPORT PoolTeam final : public Team {
 public:
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] Status run_last(int active, FunctionRef<void(int rank)> fn) override;
  [[nodiscard]] Status run_teams(int parts, FunctionRef<void(int part, Team& team)> fn) override;

  // The team of the last `count` members, with the same leader. `count` is clamped to [1, size()].
  [[nodiscard]] PoolTeam last(int count) const;

 private:
  friend class WorkerPool;
  PoolTeam(WorkerPool& pool, int first, int size) : pool_(&pool), first_(first), size_(size) {}

  [[nodiscard]] WorkerPool::Worker& worker(int rank) const { return pool_->workers_[first_ + rank]; }
  // Whether the calling thread may run on the last `active` members now.
  [[nodiscard]] Status check(int active) const;
  // Runs `work` for each rank in [begin, end) on the worker that leads the rank's team; the calling thread
  // runs the last rank. team_of(rank) is the team that this worker leads during the run.
  template <class TeamOf>
  [[nodiscard]] Status fork_join(int begin, int end, FunctionRef<void(int rank)> work, const TeamOf& team_of);

  WorkerPool* pool_;
  int first_;
  int size_;
};

// The number of workers that the process may use, including the calling thread: limited by its affinity and
// the cgroup quota. At least 1.
[[nodiscard]] MILLRACE_EXPORT int usable_workers();
// The same with the quota rounded up. The kernel throttles this many workers now and then.
[[nodiscard]] MILLRACE_EXPORT int most_usable_workers();

// Decides which idle workers may poll. Worker i may if there are no more workers confined to the CPUs of
// allowed[i] than CPUs, so that each can have its own. Workers with unknown CPUs (an empty set) may not. One
// entry per worker. Pure.
[[nodiscard]] std::vector<bool> may_linger(std::span<const machine::CpuSet> allowed);

}  // namespace millrace::pool
