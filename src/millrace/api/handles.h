// Handles: what callers hold in the place of objects.
#pragma once

#include "millrace/base/result.h"

#include <atomic>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unistd.h>
#include <utility>

namespace millrace::api {

// Objects by numbers that are never used twice in a process, nor in its forks, so that a handle that was
// freed is known to be one. A handle looks like a pointer to C and is none: it is not an address of anything.
// Thread-safe; an object that is removed lives until the last call that found it has returned.
template <class Handle, class Object> class Handles {
 public:
  // name: of such an object in messages, "a pipeline". first: the first number, above 0 and another below
  // `step` for each kind. To live as long as the process: there may be calls until its very end.
  // library: anything that lies in the memory of this library alone. Another copy or version of it in the
  // process then has other numbers, and refuses those of this one: copies are pages apart, and millions of
  // handles fit between the numbers of two pages.
  Handles(const char* name, std::uintptr_t first, const void* library)
      : name_(name), own_(new Own),
        next_((std::bit_cast<std::uintptr_t>(library) >> page_bits << handle_bits) + first) {}

  // From one number to the next of a kind.
  static constexpr std::uintptr_t step = 16;
  static constexpr int page_bits = 12;
  static constexpr int handle_bits = 27;  // addresses of 48 bits, less those of a page, leave so many

  [[nodiscard]] Handle* add(std::shared_ptr<Object> object) {
    Own& own = of_this_process();
    const std::scoped_lock lock(own.mutex);
    const std::uintptr_t number = next_.fetch_add(step, std::memory_order_relaxed);
    own.objects.emplace(number, std::move(object));
    return std::bit_cast<Handle*>(number);
  }

  [[nodiscard]] Result<std::shared_ptr<Object>> find(const Handle* handle) {
    Own& own = of_this_process();
    const std::scoped_lock lock(own.mutex);
    const auto found = own.objects.find(std::bit_cast<std::uintptr_t>(handle));
    if (found == own.objects.end()) return refusal(handle);
    return found->second;
  }

  [[nodiscard]] Result<std::shared_ptr<Object>> remove(const Handle* handle) {
    Own& own = of_this_process();
    const std::scoped_lock lock(own.mutex);
    const auto found = own.objects.find(std::bit_cast<std::uintptr_t>(handle));
    if (found == own.objects.end()) return refusal(handle);
    std::shared_ptr<Object> object = std::move(found->second);
    own.objects.erase(found);
    return object;
  }

 private:
  struct Own {
    pid_t process = getpid();
    std::mutex mutex;
    std::map<std::uintptr_t, std::shared_ptr<Object>> objects;
  };

  // After a fork, another: the threads of the objects are not in this process, and one that is not either may
  // hold the mutex. The old one is left as it is.
  [[nodiscard]] Own& of_this_process() {
    Own* own = own_.load(std::memory_order_acquire);
    if (own->process == getpid()) return *own;
    auto fresh = std::make_unique<Own>();
    // acq_rel: who sees the new one sees it made.
    if (own_.compare_exchange_strong(own, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
    return *own;
  }

  [[nodiscard]] std::unexpected<Error> refusal(const Handle* handle) const {
    if (handle == nullptr) return usage_error("{} is wanted, not NULL", name_);
    return usage_error("{:#x} is no handle of {}: it was freed, or is something else's, or another "
                       "library's, or from before "
                       "a fork",
                       std::bit_cast<std::uintptr_t>(handle), name_);
  }

  const char* name_;
  std::atomic<Own*> own_;
  std::atomic<std::uintptr_t> next_;  // relaxed: numbers, which publish nothing
};

}  // namespace millrace::api
