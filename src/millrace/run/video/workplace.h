// Workplace: what runs compute with.
#pragma once

#include "millrace/image/execute/executor.h"
#include "millrace/image/kernel/kernel_library.h"
#include "millrace/machine/report/machine_report.h"
#include "millrace/pool/shared_workers.h"
#include "millrace/pool/worker_pool.h"

#include <memory>

namespace millrace::run {

// The process's workers and its kernels.
class Workplace {
 public:
  // For one run at a time, any number of them in turn. Made, used and destroyed by one thread, which is one
  // of the workers. threads: workers, the calling thread included, at least 1. `machine` must outlive the
  // workplace. `cache`: where compiled kernels are kept for later processes; by default nowhere.
  [[nodiscard]] static Result<std::unique_ptr<Workplace>>
  make(const machine::MachineReport& machine, int threads, image::KernelCache cache = image::KernelCache());

  // For any number of runs at the same time, each by a thread of its own. At most `threads` threads process
  // frames at once. Affinities are not to be had.
  [[nodiscard]] static Result<std::unique_ptr<Workplace>> make_shared(const machine::MachineReport& machine,
                                                                      int threads, image::KernelCache cache);

  [[nodiscard]] const machine::MachineReport& machine() const { return machine_; }
  // Whether several runs at the same time may use it.
  [[nodiscard]] bool is_shared() const { return shared_ != nullptr; }
  [[nodiscard]] int threads() const { return pool_ ? pool_->size() : shared_->size(); }
  // Only of one that make() made.
  [[nodiscard]] pool::WorkerPool& pool() { return *pool_; }
  // Only of one that make_shared() made.
  [[nodiscard]] pool::SharedWorkers& shared_workers() { return *shared_; }
  [[nodiscard]] image::KernelLibrary& library() { return library_; }
  // For a stream of frames, by its workers. The workplace must outlive it.
  [[nodiscard]] image::Executor executor();

 private:
  Workplace(const machine::MachineReport& machine, std::unique_ptr<pool::WorkerPool> pool,
            std::unique_ptr<pool::SharedWorkers> shared, image::KernelCache cache);

  const machine::MachineReport& machine_;
  std::unique_ptr<pool::WorkerPool> pool_;  // one of the two, the other is null
  std::unique_ptr<pool::SharedWorkers> shared_;
  image::KernelLibrary library_;
};

}  // namespace millrace::run
