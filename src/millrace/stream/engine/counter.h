// Counter: written by one thread, read by others.
#pragma once

#include <atomic>
#include <cstdint>

namespace millrace::stream {

// As cheap as a plain number, because its only writer needs no read-modify-write. relaxed: readers get a
// recent count and rely on no other writes.
class Counter {
 public:
  Counter& operator++() { return *this += 1; }
  Counter& operator+=(std::uint64_t more) {
    value_.store(value_.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
    return *this;
  }
  operator std::uint64_t() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_ = 0;
};

}  // namespace millrace::stream
