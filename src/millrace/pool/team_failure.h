// From the exceptions of a team's members to the one Error of the team.
#pragma once

#include "millrace/base/export.h"
#include "millrace/base/result.h"

#include <exception>
#include <utility>

namespace millrace::pool {

// Keeps the exception of the lowest rank. A value; not synchronised: the leader fills it after the join.
class MILLRACE_EXPORT TeamFailure {
 public:
  // To be called in ascending order of rank; null means that the rank succeeded.
  void add(int rank, std::exception_ptr error) {
    if (!error || error_) return;
    error_ = std::move(error);
    rank_ = rank;
  }

  // What Team::run returns.
  [[nodiscard]] Status status() const;

 private:
  std::exception_ptr error_;
  int rank_ = 0;
};

// Calls `call` and returns what it threw, null if nothing.
template <class Call> [[nodiscard]] std::exception_ptr caught_from(Call&& call) noexcept {
  try {
    call();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace millrace::pool
