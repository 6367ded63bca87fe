#include "millrace/pool/team_failure.h"

#include <exception>
#include <new>

namespace millrace::pool {

Status TeamFailure::status() const {
  if (!error_) return {};
  try {
    std::rethrow_exception(error_);
  } catch (const std::bad_alloc&) {
    return failure("worker of rank {} failed: out of memory", rank_);
  } catch (const std::exception& error) {
    return failure("worker of rank {} failed: {}", rank_, error.what());
  } catch (...) {
    return failure("worker of rank {} failed with an exception of unknown type", rank_);
  }
}

}  // namespace millrace::pool
