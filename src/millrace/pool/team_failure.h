// Combines the exceptions of a team's members into one Error.
#pragma once

#include "millrace/base/error/export.h"
#include "millrace/base/error/result.h"

#include <exception>
#include <utility>

namespace millrace::pool {

// Keeps the exception of the lowest rank. Not synchronised: the leader fills it after the join.
class MILLRACE_EXPORT TeamFailure {
 public:
  // Call in ascending order of rank. Null means that the rank succeeded.
  void add(int rank, std::exception_ptr error) {
    if (!error || error_) return;
    error_ = std::move(error);
    rank_ = rank;
  }

  // The result of Team::run.
  [[nodiscard]] Status status() const;

 private:
  std::exception_ptr error_;
  int rank_ = 0;
};

// Calls `call` and returns the exception that it threw, or null.
template <class Call> [[nodiscard]] std::exception_ptr caught_from(Call&& call) noexcept {
  try {
    call();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace millrace::pool
