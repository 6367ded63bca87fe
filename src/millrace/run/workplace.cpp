#include "millrace/run/workplace.h"

#include <utility>

namespace millrace::run {

Workplace::Workplace(const machine::MachineReport& machine, std::unique_ptr<pool::WorkerPool> pool,
                     image::KernelLibraryOptions options)
    : machine_(machine), pool_(std::move(pool)), library_(std::move(options)) {}

Result<std::unique_ptr<Workplace>> Workplace::make(const machine::MachineReport& machine, int threads,
                                                   image::KernelCache cache) {
  auto pool = pool::WorkerPool::create(threads);
  if (!pool) return std::unexpected(pool.error());
  image::KernelLibraryOptions options;
  options.cache = std::move(cache);
  return std::unique_ptr<Workplace>(new Workplace(machine, std::move(*pool), std::move(options)));
}

}  // namespace millrace::run
