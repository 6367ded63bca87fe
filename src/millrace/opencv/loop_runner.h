// LoopRunner: runs a library's loops, each on the number of threads that is fastest for its call site.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/opencv/thread_choice.h"
#include "millrace/pool/function_ref.h"
#include "millrace/pool/shared_workers.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <sys/types.h>

namespace millrace::opencv {

// Thread-safe, also after a fork: the child creates its own workers. Destroy it only when no loop is running.
class LoopRunner {
 public:
  // most: maximum number of threads; below 1 the number that the process may use, by its affinity and its
  // quota, rounded up.
  explicit LoopRunner(int most = 0);
  ~LoopRunner();
  LoopRunner(const LoopRunner&) = delete;
  LoopRunner& operator=(const LoopRunner&) = delete;

  // Calls body(begin, end) for ranges that cover [0, count) once, and returns when all are done. site: the
  // call site, for which times are kept. A loop inside a loop runs on its own thread. An exception of the
  // body is rethrown once all ranges are done.
  void run(std::uint64_t site, int count, pool::FunctionRef<void(int begin, int end)> body);

  // Rank of the calling thread in its loop: 0 to most() - 1.
  [[nodiscard]] static int rank();
  [[nodiscard]] int most() const { return most_.load(std::memory_order_relaxed); }
  // Below 1: again the number that the process may use.
  void set_most(int threads);

  // One line per site, the longest-running first.
  [[nodiscard]] std::string report();

 private:
  struct Site {
    ThreadChoice choice;
    std::uint64_t loops = 0;
    double seconds = 0;
    int count = 0;
  };
  struct Own {
    pid_t process;
    std::mutex mutex = {};
    // Guarded by the mutex. The last one is the largest and is used; loops may still be running on the
    // others.
    std::vector<std::unique_ptr<pool::SharedWorkers>> workers = {};
    std::unordered_map<std::uint64_t, Site> sites = {};  // at most most_sites

    // Workers for this many threads; null if none can be created.
    [[nodiscard]] pool::SharedWorkers* workers_for(int threads);
  };
  static constexpr std::size_t most_sites = 4096;

  [[nodiscard]] Own& of_this_process();

  // relaxed: a number that publishes no other data
  std::atomic<int> most_;
  std::atomic<Own*> own_ = nullptr;
};

}  // namespace millrace::opencv
