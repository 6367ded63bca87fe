// Workplace: what runs compute with.
#pragma once

#include "millrace/image/kernel/kernel_library.h"
#include "millrace/machine/report/machine_report.h"
#include "millrace/pool/worker_pool.h"

#include <memory>

namespace millrace::run {

// The process's pool of workers and its kernels. Made, used and destroyed by one thread, which is one of the
// workers; one run at a time, any number of them in turn.
class Workplace {
 public:
  // threads: workers, the calling thread included, at least 1. `machine` must outlive the workplace. `cache`:
  // where compiled kernels are kept for later processes; by default nowhere.
  [[nodiscard]] static Result<std::unique_ptr<Workplace>>
  make(const machine::MachineReport& machine, int threads, image::KernelCache cache = image::KernelCache());

  [[nodiscard]] const machine::MachineReport& machine() const { return machine_; }
  [[nodiscard]] int threads() const { return pool_->size(); }
  [[nodiscard]] pool::WorkerPool& pool() { return *pool_; }
  [[nodiscard]] image::KernelLibrary& library() { return library_; }

 private:
  Workplace(const machine::MachineReport& machine, std::unique_ptr<pool::WorkerPool> pool,
            image::KernelLibraryOptions options);

  const machine::MachineReport& machine_;
  std::unique_ptr<pool::WorkerPool> pool_;
  image::KernelLibrary library_;
};

}  // namespace millrace::run
