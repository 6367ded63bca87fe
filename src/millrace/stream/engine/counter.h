// Counter: counted by one thread, looked at by others.
#pragma once

#include <atomic>
#include <cstdint>

namespace millrace::stream {

// As cheap as a plain number: its only writer needs no read-modify-write. relaxed: a reader learns how many,
// some time ago, and nothing else of what the writer did.
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
