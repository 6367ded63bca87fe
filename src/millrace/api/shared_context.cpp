#include "millrace/api/shared_context.h"

#include <atomic>
#include <mutex>
#include <unistd.h>
#include <utility>

namespace millrace::api {
namespace {

Result<std::shared_ptr<const SharedContext>> make() {
  auto machine = machine::inspect_machine();
  if (!machine) return std::unexpected(machine.error());
  auto shared = std::make_shared<SharedContext>(SharedContext{std::move(*machine), nullptr});
  auto context = run::ExecutionContext::make_shared(shared->machine, shared->machine.usable.worker_limit,
                                                    image::KernelCache(image::default_kernel_cache_folder()));
  if (!context) return std::unexpected(context.error());
  shared->context = std::move(*context);
  return shared;
}

struct Place {
  pid_t process = getpid();
  std::mutex mutex;
  std::weak_ptr<const SharedContext> shared;
};

// A forked child needs its own: it has none of the parent's threads, and the mutex may be locked for ever.
Place& place_of_this_process() {
  static std::atomic<Place*> place = new Place;
  Place* here = place.load(std::memory_order_acquire);
  if (here->process == getpid()) return *here;
  auto fresh = std::make_unique<Place>();
  // acq_rel: a thread that reads the new pointer sees the object fully constructed.
  if (place.compare_exchange_strong(here, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
  return *here;
}

}  // namespace

Result<std::shared_ptr<const SharedContext>> shared_context() {
  Place& place = place_of_this_process();
  const std::scoped_lock lock(place.mutex);
  if (auto there = place.shared.lock()) return there;
  auto made = make();
  if (made) place.shared = *made;
  return made;
}

}  // namespace millrace::api
