// WorkerPool: the threads that do the process's work, made once, with fork-join that costs well under a
// microsecond.
#pragma once

#include "millrace/base/export.h"
#include "millrace/base/result.h"
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

// W workers, numbered 0 .. W-1. Worker W-1 is the thread that made the pool; the other W-1 are threads of the
// pool's own. The pool is to be used and destroyed by the thread that made it.
//
// An idle worker polls for about `linger_ns`, then sleeps in the kernel and costs nothing. Where workers have
// to share CPUs (see may_linger) polling would keep the one that is waited for from running: those sleep at
// once.
class MILLRACE_EXPORT WorkerPool {
 public:
  // How long idle workers and waiting leaders poll. A sleep and wake-up take about 5 to 50 us, a longer
  // linger burns the CPU of others (design, invariant 6).
  static constexpr std::int64_t linger_ns = 10'000;

  // Makes a pool of `workers` >= 1. `bindings` as in rebind(). Usage error when workers < 1 or when a binding
  // is impossible, failure when the system refuses a thread; nothing is left behind then.
  [[nodiscard]] static Result<std::unique_ptr<WorkerPool>>
  create(int workers, std::span<const machine::CpuSet> bindings = {});

  // As many as the process may use: by the affinity of the calling thread and the quota of its control group.
  [[nodiscard]] static Result<std::unique_ptr<WorkerPool>> create();

  // Ends and joins the workers and gives the calling thread the affinity back that it had before create(), if
  // the pool has bound it.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  [[nodiscard]] int size() const { return static_cast<int>(workers_.size()); }

  // All workers, led by the thread that made the pool. Valid as long as the pool.
  [[nodiscard]] PoolTeam team();

  // Binds worker i, the calling thread being the last, to bindings[i]; an empty set leaves it free, that is,
  // on every CPU that the calling thread could use when it made the pool. An empty span frees all; any other
  // size than size() is a usage error. Only between runs, as a run is. On error the arrangement before is put
  // back and the error names the worker.
  //
  // The kernel is asked for what changes only: a pool that is never bound never asks, and works where binding
  // is not permitted.
  [[nodiscard]] Status rebind(std::span<const machine::CpuSet> bindings);

  // The CPUs that the kernel granted to each worker, read back when it was bound; of workers that never were,
  // those of the thread that made the pool. Empty sets where the kernel does not tell.
  [[nodiscard]] const std::vector<machine::CpuSet>& granted() const { return granted_; }

 private:
  friend class PoolTeam;

  struct alignas(cache_line_pair) Worker {
    Mailbox mailbox;
    // The rest is read-mostly, or the worker's own.
    std::thread::id thread_id;
    int first_led = 0;                        // touched by the worker's own thread only
    std::atomic<std::int64_t> linger_ns = 0;  // relaxed: a tuning value, publishes nothing
    std::thread thread;                       // empty for the last worker
  };

  explicit WorkerPool(int workers);

  void serve(Worker& worker);
  // Binds to sets[i] each worker i that is not there already, and keeps what was granted; on error that of
  // those which were bound before it.
  [[nodiscard]] Status bind_to(std::span<const machine::CpuSet> sets);
  void set_lingers();

  machine::CpuSet home_;  // where the creator could run; empty where the kernel does not tell
  std::vector<Worker> workers_;
  std::vector<machine::CpuSet> granted_;
};

// A contiguous range of a pool's workers, led by the last of them. A small value, to be copied freely; it
// must not outlive the pool.
//
// Busy workers cannot be called: at any time each worker may be led by exactly one thread. run_last lends the
// other members to nobody but the leader's own wait, run_teams lends each part to its leader, and both take
// them back when they return. A call by another thread, on a kept team whose workers are lent otherwise, or
// on a team that is already running is a usage error, found by comparing two numbers that only the calling
// thread writes.
class MILLRACE_EXPORT PoolTeam final : public Team {
 public:
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] Status run_last(int active, FunctionRef<void(int rank)> fn) override;
  [[nodiscard]] Status run_teams(int parts, FunctionRef<void(int part, Team& team)> fn) override;

  // The team of the last `count` members, under the same leader. 1 <= count <= size(); clamped to that.
  [[nodiscard]] PoolTeam last(int count) const;

 private:
  friend class WorkerPool;
  PoolTeam(WorkerPool& pool, int first, int size) : pool_(&pool), first_(first), size_(size) {}

  [[nodiscard]] WorkerPool::Worker& worker(int rank) const { return pool_->workers_[first_ + rank]; }
  // Whether the calling thread may run on the last `active` members now.
  [[nodiscard]] Status check(int active) const;
  // Runs `work` for each rank in [begin, end) on the worker that leads rank's team, this thread being the one
  // of the last rank. team_of(rank) is the team which that worker leads meanwhile.
  template <class TeamOf>
  [[nodiscard]] Status fork_join(int begin, int end, FunctionRef<void(int rank)> work, const TeamOf& team_of);

  WorkerPool* pool_;
  int first_;
  int size_;
};

// How many workers the process may use, the calling thread included: its affinity, and the quota of its
// control group; at least 1.
[[nodiscard]] MILLRACE_EXPORT int usable_workers();
// The same with the quota rounded up: they are held up now and then.
[[nodiscard]] MILLRACE_EXPORT int most_usable_workers();

// Which workers may poll when idle: worker i may if the workers confined to CPUs of allowed[i] are no more
// than those CPUs, so that each can have one to itself. Those whose CPUs are unknown (an empty set) may not.
// One entry a worker. Pure.
[[nodiscard]] std::vector<bool> may_linger(std::span<const machine::CpuSet> allowed);

}  // namespace millrace::pool
