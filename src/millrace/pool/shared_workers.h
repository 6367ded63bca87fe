// SharedWorkers: the process's workers where several threads have work for them at the same time.
#pragma once

#include "millrace/base/export.h"
#include "millrace/base/result.h"
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

// A WorkerPool has one leader. Here any number of threads lead, each for the time of a call of run(): at any
// time at most size() threads work, leaders included. A leader brings itself and gets helpers from those that
// are idle then; work is divided among as many ranks as it asks for, whoever is there to run them.
//
// Helpers are not bound: where they run is the kernel's choice, but for the moment in which they are woken
// elsewhere (wake_elsewhere.h).
class MILLRACE_EXPORT SharedWorkers {
 public:
  // At most `workers` >= 1 threads work at once. So long they poll before they sleep, helpers for work and a
  // leader for its helpers: where the next run comes soon, longer is faster. Usage error when workers < 1,
  // failure when the system refuses a thread; nothing is left behind then.
  [[nodiscard]] static Result<std::unique_ptr<SharedWorkers>>
  create(int workers, std::int64_t linger_ns = WorkerPool::linger_ns);
  // No run may be under way.
  ~SharedWorkers();
  SharedWorkers(const SharedWorkers&) = delete;
  SharedWorkers& operator=(const SharedWorkers&) = delete;

  [[nodiscard]] int size() const { return size_; }

  // How many threads a run gets at most, its leader included; from the next run on. Clamped to [1, size()].
  // Any thread.
  void limit_each(int threads);

  // Waits until a thread may work, first come, first served, then calls fn with a team of `ranks` >= 1 that
  // is led by the calling thread, and returns what fn returns. Helpers are lent for the whole call, and no
  // more than leave room for the leaders that wait. The team is to be used by the calling thread alone, and
  // not kept. Ranks must not wait for each other: several of them may fall to one thread, one after the
  // other. Any thread, but not from within fn.
  // wake: where helpers wake that sleep.
  [[nodiscard]] Status run(int ranks, FunctionRef<Status(Team& team)> fn, WakeUp wake = WakeUp::anywhere);

 private:
  class LentTeam;

  struct alignas(cache_line_pair) Helper {
    Mailbox mailbox;
    std::thread thread;
  };

  SharedWorkers(int workers, std::int64_t linger_ns);

  // Of [first, end) each rank once, by the calling thread, which begins with the last one, and the helpers.
  [[nodiscard]] Status share_out(const std::vector<Helper*>& helpers, WakeUp wake, int first, int end,
                                 FunctionRef<void(int rank)> work) const;
  // Both take and give back the right to work, of the leader and of helpers.
  void begin(int ranks, std::vector<Helper*>& helpers);
  void end(const std::vector<Helper*>& helpers);

  const int size_;
  const std::int64_t linger_ns_;
  std::vector<Helper> helpers_;
  std::atomic<int> limit_;  // relaxed: a number, publishes nothing
  std::mutex mutex_;
  std::condition_variable freed_;
  // With the mutex held:
  int free_;                       // threads more that may work now
  std::uint64_t next_ticket_ = 0;  // of a leader that comes
  std::uint64_t serving_ = 0;      // of the one that may begin next
  std::vector<Helper*> idle_;      // never fewer than free_ - 1
};

}  // namespace millrace::pool
