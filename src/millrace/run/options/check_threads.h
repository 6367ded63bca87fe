#pragma once

#include "millrace/base/error/result.h"

namespace millrace::run {

// Usage error if --threads exceeds the number of threads that may work at a time here; 0 means no request.
[[nodiscard]] inline Status check_threads(int asked, int worker_limit) {
  if (asked <= worker_limit) return {};
  return usage_error("--threads {} is more than the {} that affinity mask, cpuset and quota allow here "
                     "(millrace machine shows why)",
                     asked, worker_limit);
}

}  // namespace millrace::run
