#include "millrace/pool/team_failure.h"

namespace millrace::pool {

Status TeamFailure::status() const {
  if (!error_) return {};
  try {
    std::rethrow_exception(error_);
  } catch (const std::exception& error) {
    return failure("worker of rank {} failed: {}", rank_, error.what());
  } catch (...) {
    return failure("worker of rank {} failed with an exception of unknown type", rank_);
  }
}

}  // namespace millrace::pool
