// ExecutionContext: the execution context of runs.
#pragma once

#include "millrace/image/execute/executor.h"
#include "millrace/image/kernel/kernel_library.h"
#include "millrace/machine/report/machine_report.h"
#include "millrace/pool/shared_workers.h"
#include "millrace/pool/worker_pool.h"

#include <memory>

namespace millrace::run {

// The process's workers and its compiled kernels.
class ExecutionContext {
 public:
  // For one run at a time, any number of them in turn. Created, used and destroyed by one thread, which is
  // one of the workers. threads: number of workers, including the calling thread, at least 1. `machine` must
  // outlive the context. `cache`: stores compiled kernels for later processes; by default they are not
  // stored.
  [[nodiscard]] static Result<std::unique_ptr<ExecutionContext>>
  make(const machine::MachineReport& machine, int threads, image::KernelCache cache = image::KernelCache());

  // For any number of concurrent runs, each on its own thread. At most `threads` threads process frames at a
  // time. Affinities are not available.
  [[nodiscard]] static Result<std::unique_ptr<ExecutionContext>>
  make_shared(const machine::MachineReport& machine, int threads, image::KernelCache cache);

  [[nodiscard]] const machine::MachineReport& machine() const { return machine_; }
  // Whether several concurrent runs may use it.
  [[nodiscard]] bool is_shared() const { return shared_ != nullptr; }
  [[nodiscard]] int threads() const { return pool_ ? pool_->size() : shared_->size(); }
  // Only if created by make().
  [[nodiscard]] pool::WorkerPool& pool() { return *pool_; }
  // Only if created by make_shared().
  [[nodiscard]] pool::SharedWorkers& shared_workers() { return *shared_; }
  [[nodiscard]] image::KernelLibrary& library() { return library_; }
  // An executor for one stream of frames on these workers. The context must outlive it.
  [[nodiscard]] image::Executor executor();

 private:
  ExecutionContext(const machine::MachineReport& machine, std::unique_ptr<pool::WorkerPool> pool,
                   std::unique_ptr<pool::SharedWorkers> shared, image::KernelCache cache);

  const machine::MachineReport& machine_;
  std::unique_ptr<pool::WorkerPool> pool_;  // exactly one of the two is not null
  std::unique_ptr<pool::SharedWorkers> shared_;
  image::KernelLibrary library_;
};

}  // namespace millrace::run
