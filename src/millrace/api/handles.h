// Handles: numbers that callers of the C interface hold instead of pointers to objects.
#pragma once

#include "millrace/base/error/result.h"

#include <atomic>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unistd.h>
#include <utility>

namespace millrace::api {

// Objects by number. A number is never reused in a process or its forks, so a freed handle is recognised. A
// handle has a pointer type in C but is not an address.
//
// Thread-safe. A removed object lives until the last call that found it has returned.
template <class Handle, class Object> class Handles {
 public:
  // The object must live as long as the process: calls can come until its very end.
  //
  // name: of such an object in messages, "a pipeline".
  //
  // first: the first number; above 0, below `step`, and different for each kind.
  //
  // library: any address in this library's own memory. It makes the numbers of another copy or version of the
  // library in the same process different, so each copy refuses the other's handles. Copies are pages apart,
  // and millions of handles fit between the numbers of two pages.
  Handles(const char* name, std::uintptr_t first, const void* library)
      : name_(name), own_(new Own),
        next_((std::bit_cast<std::uintptr_t>(library) >> page_bits << handle_bits) + first) {}

  // Distance between consecutive numbers of one kind.
  static constexpr std::uintptr_t step = 16;
  static constexpr int page_bits = 12;
  static constexpr int handle_bits = 27;  // a 48-bit address without its page bits leaves this many

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

  // A forked child gets a new table: the objects' threads do not exist in it, and one of them may have held
  // the mutex. The old table is left as it is.
  [[nodiscard]] Own& of_this_process() {
    Own* own = own_.load(std::memory_order_acquire);
    if (own->process == getpid()) return *own;
    auto fresh = std::make_unique<Own>();
    // acq_rel: a thread that reads the new pointer sees the object fully constructed.
    if (own_.compare_exchange_strong(own, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
    return *own;
  }

  [[nodiscard]] std::unexpected<Error> refusal(const Handle* handle) const {
    if (handle == nullptr) return usage_error("{} is wanted, not NULL", name_);
    return usage_error("{:#x} is not a handle of {}: it was freed, has another type, belongs to another "
                       "library, or was made before a fork",
                       std::bit_cast<std::uintptr_t>(handle), name_);
  }

  const char* name_;
  std::atomic<Own*> own_;
  std::atomic<std::uintptr_t> next_;  // relaxed: the numbers publish no other data
};

}  // namespace millrace::api
