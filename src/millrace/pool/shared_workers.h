// SharedWorkers: the process's workers for several threads that have work at the same time.
#pragma once

#include "millrace/base/error/export.h"
#include "millrace/base/error/result.h"
#include "millrace/pool/function_ref.h"
#include "millrace/pool/mailbox.h"
#include "millrace/pool/team.h"
#include "millrace/pool/worker_pool.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace millrace::pool {

// A WorkerPool has one leader. Here any number of threads may lead, each during its call of run(). At most
// size() threads work at once, including leaders. A leader contributes itself and borrows idle helpers. It
// may divide the work into any number of ranks, regardless of how many threads run them.
//
// Helpers are not pinned: the kernel places them, except for the moment of a wake-up with WakeUp::elsewhere
// (wake_elsewhere.h).
class MILLRACE_EXPORT SharedWorkers {
 public:
  // At most `workers` >= 1 threads work at once. linger_ns: how long helpers poll for work, and leaders for
  // helpers, before they sleep. Longer is faster if the next run follows soon. Usage error if workers < 1;
  // failure if the system refuses a thread, in which case everything is cleaned up.
  [[nodiscard]] static Result<std::unique_ptr<SharedWorkers>>
  create(int workers, std::int64_t linger_ns = WorkerPool::linger_ns);
  // No run may be in progress.
  ~SharedWorkers();
  SharedWorkers(const SharedWorkers&) = delete;
  SharedWorkers& operator=(const SharedWorkers&) = delete;

  [[nodiscard]] int size() const { return size_; }

  // The maximum number of threads per run, including its leader. Applies from the next run on. Clamped to [1,
  // size()]. Thread-safe.
  void limit_each(int threads);

  // Waits until a thread may work, first come, first served. Then calls fn with a team of `ranks` >= 1 led by
  // the calling thread, and returns fn's result. The helpers are lent for the whole call, and enough threads
  // are left for all waiting leaders. Only the calling thread may use the team, and must not keep it. Ranks
  // must not wait for each other, because one thread may run several of them in sequence. Any thread may call
  // run(), but not from within fn.
  //
  // wake: on which CPUs sleeping helpers wake.
  [[nodiscard]] Status run(int ranks, FunctionRef<Status(Team& team)> fn, WakeUp wake = WakeUp::anywhere);

 private:
  class LentTeam;

  struct alignas(cache_line_pair) Helper {
    Mailbox mailbox;
    std::thread thread;
  };

  SharedWorkers(int workers, std::int64_t linger_ns);

  // Runs each rank of [first, end) once, on the helpers and on the calling thread, which starts with the
  // last.
  [[nodiscard]] Status share_out(const std::vector<Helper*>& helpers, WakeUp wake, int first, int end,
                                 FunctionRef<void(int rank)> work) const;
  // Acquire and release the right to work, for the leader and its helpers.
  void begin(int ranks, std::vector<Helper*>& helpers);
  void end(const std::vector<Helper*>& helpers);

  const int size_;
  const std::int64_t linger_ns_;
  std::vector<Helper> helpers_;
  std::atomic<int> limit_;  // relaxed: publishes only itself
  std::mutex mutex_;
  std::condition_variable freed_;
  // Protected by the mutex:
  int free_;                       // number of threads that may still start work
  std::uint64_t next_ticket_ = 0;  // for the next leader that arrives
  std::uint64_t serving_ = 0;      // the ticket that may start next
  std::vector<Helper*> idle_;      // at least free_ - 1 helpers
};

}  // namespace millrace::pool
