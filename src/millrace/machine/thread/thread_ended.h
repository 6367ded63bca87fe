// The error of every call about a thread that has ended meanwhile. Callers that change the threads of a
// program tell it from a refusal by its kind.
#pragma once

#include "millrace/base/error/result.h"

#include <sys/types.h>

namespace millrace::machine {

[[nodiscard]] inline std::unexpected<Error> thread_ended(pid_t thread) {
  return std::unexpected(Error{ErrorKind::ended, fmt::format("thread {} is gone", thread)});
}

}  // namespace millrace::machine
