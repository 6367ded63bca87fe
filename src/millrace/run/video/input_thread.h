// InputThread: a thread that affects the caches like a thread that reads and decodes frames, and does nothing
// else.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/pool/function_ref.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace millrace::run {

// Sleeps between calls. Used by one thread.
class InputThread {
 public:
  // cpus: CPUs of the new thread; empty means those of the calling thread. Failure or usage error if the
  // system refuses the thread or any of the CPUs.
  [[nodiscard]] static Result<std::unique_ptr<InputThread>> start(const machine::CpuSet& cpus);
  ~InputThread();
  InputThread(const InputThread&) = delete;
  InputThread& operator=(const InputThread&) = delete;

  // Runs `write`, which must not throw, on the thread and waits. Returns the CPU it ran on; -1 if the system
  // does not tell.
  int call(pool::FunctionRef<void()> write);

 private:
  InputThread() = default;
  void serve(const machine::CpuSet& cpus);

  std::mutex mutex_;
  std::condition_variable changed_;
  pool::FunctionRef<void()> write_;  // empty while idle
  Status bound_;
  bool started_ = false;
  bool stopping_ = false;
  int cpu_ = -1;
  std::thread thread_;
};

}  // namespace millrace::run
