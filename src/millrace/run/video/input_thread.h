// InputThread: a thread that does what reads and decodes a stream's frames does to the caches, and nothing
// else.
#pragma once

#include "millrace/base/result.h"
#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/pool/function_ref.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace millrace::run {

// Sleeps between two calls. Used by one thread.
class InputThread {
 public:
  // cpus: where it runs from its beginning; empty for where the calling thread may. Failure, or usage error,
  // where the system refuses the thread or any of the CPUs.
  [[nodiscard]] static Result<std::unique_ptr<InputThread>> start(const machine::CpuSet& cpus);
  ~InputThread();
  InputThread(const InputThread&) = delete;
  InputThread& operator=(const InputThread&) = delete;

  // Has the thread call `write`, which must not throw, and waits. The CPU that it was seen on; -1 where the
  // system does not tell.
  int call(pool::FunctionRef<void()> write);

 private:
  InputThread() = default;
  void serve(const machine::CpuSet& cpus);

  std::mutex mutex_;
  std::condition_variable changed_;
  pool::FunctionRef<void()> write_;  // empty: nothing to do
  Status bound_;
  bool started_ = false;
  bool stopping_ = false;
  int cpu_ = -1;
  std::thread thread_;
};

}  // namespace millrace::run
