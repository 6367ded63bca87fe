// MemoryBudget: divides memory among jobs, first come, first served.
#pragma once

#include "millrace/base/error/result.h"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>

namespace millrace::run {

// Thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::uint64_t bytes) : all_(bytes) {}

  // Waits until this much is left, or nothing is taken: a request above the budget is granted alone. Requests
  // are granted in order of arrival. If stopped, returns interrupted and takes nothing.
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
