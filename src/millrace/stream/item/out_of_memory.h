// The error of a run that ran out of memory.
#pragma once

#include "millrace/base/error/without_exceptions.h"

namespace millrace::stream {

[[nodiscard]] inline Error out_of_memory() noexcept {
  return failure_saying("out of memory; use fewer threads or tokens, or a smaller byte budget");
}

}  // namespace millrace::stream
