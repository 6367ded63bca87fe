#include "millrace/run/video/execution_context.h"

#include <utility>

namespace millrace::run {
namespace {

image::KernelLibraryOptions library_options(image::KernelCache cache) {
  image::KernelLibraryOptions options;
  options.cache = std::move(cache);
  return options;
}

}  // namespace

ExecutionContext::ExecutionContext(const machine::MachineReport& machine,
                                   std::unique_ptr<pool::WorkerPool> pool,
                                   std::unique_ptr<pool::SharedWorkers> shared, image::KernelCache cache)
    : machine_(machine), pool_(std::move(pool)), shared_(std::move(shared)),
      library_(library_options(std::move(cache))) {}

Result<std::unique_ptr<ExecutionContext>> ExecutionContext::make(const machine::MachineReport& machine,
                                                                 int threads, image::KernelCache cache) {
  auto pool = pool::WorkerPool::create(threads);
  if (!pool) return std::unexpected(pool.error());
  return std::unique_ptr<ExecutionContext>(
      new ExecutionContext(machine, std::move(*pool), nullptr, std::move(cache)));
}

Result<std::unique_ptr<ExecutionContext>>
ExecutionContext::make_shared(const machine::MachineReport& machine, int threads, image::KernelCache cache) {
  auto shared = pool::SharedWorkers::create(threads);
  if (!shared) return std::unexpected(shared.error());
  return std::unique_ptr<ExecutionContext>(
      new ExecutionContext(machine, nullptr, std::move(*shared), std::move(cache)));
}

image::Executor ExecutionContext::executor() {
  if (pool_) return {*pool_, library_, machine_.topology, machine_.usable.cpus};
  return {*shared_, library_, machine_.topology, machine_.usable.cpus};
}

}  // namespace millrace::run
