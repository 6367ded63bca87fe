// MemoryBudget: who may take how much of it, in the order they came.
#pragma once

#include "millrace/base/result.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>

namespace millrace::run {

// Thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::uint64_t bytes) : all_(bytes) {}

  // Waits until so much is left, or nobody has any: what is larger than the budget gets its turn alone. Who
  // came first is served first. Interrupted, and nothing is taken, where the wait is stopped.
  [[nodiscard]] Status take(std::uint64_t bytes, const std::stop_token& stop);
  void give_back(std::uint64_t bytes);

  [[nodiscard]] std::uint64_t left() const;

 private:
  const std::uint64_t all_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::uint64_t taken_ = 0;
  std::uint64_t next_ticket_ = 0;
  std::uint64_t serving_ = 0;
};

}  // namespace millrace::run
