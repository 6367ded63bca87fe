// LoopRunner: the loops of a library, shared out among as many threads as the place they come from has gain
// of.
#pragma once

#include "millrace/base/result.h"
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

// Any thread may call any member at any time, also after a fork, where it makes workers of the child's own.
// Destroyed once nobody has a loop under way.
class LoopRunner {
 public:
  // At most that many threads; below 1 what the process may use: its affinity and its quota, rounded up.
  explicit LoopRunner(int most = 0);
  ~LoopRunner();
  LoopRunner(const LoopRunner&) = delete;
  LoopRunner& operator=(const LoopRunner&) = delete;

  // Calls body(begin, end) for ranges that cover [0, count) once, and returns when all is done. site: where
  // the loop comes from; times are kept for each. A loop within a loop is run by its own thread. An exception
  // of the body is thrown again once all is done.
  void run(std::uint64_t site, int count, pool::FunctionRef<void(int begin, int end)> body);

  // Of the calling thread, in its loop: 0 to most() - 1.
  [[nodiscard]] static int rank();
  [[nodiscard]] int most() const { return most_.load(std::memory_order_relaxed); }
  // Below 1: again what the process may use.
  void set_most(int threads);

  // One line for each site, those that took longest first.
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
    // With the mutex held. The last one is the largest, and is used; the others may have loops under way.
    std::vector<std::unique_ptr<pool::SharedWorkers>> workers = {};
    std::unordered_map<std::uint64_t, Site> sites = {};  // no more than most_sites

    // For that many threads; null: none are to be had.
    [[nodiscard]] pool::SharedWorkers* workers_for(int threads);
  };
  static constexpr std::size_t most_sites = 4096;

  [[nodiscard]] Own& of_this_process();

  // relaxed: a number, publishes nothing
  std::atomic<int> most_;
  std::atomic<Own*> own_ = nullptr;
};

}  // namespace millrace::opencv
