#include "millrace/placement/run/own_priority.h"

#include "millrace/base/error/system_reason.h"

#include <cerrno>
#include <system_error>
#include <thread>

#include <sys/resource.h>

namespace millrace::placement {

Result<int> set_own_nice(int nice) {
  // The kernel keeps nice values per thread.
  if (setpriority(PRIO_PROCESS, 0, nice) != 0) {
    const int reason = errno;
    constexpr int rlimit_of_zero = 20;  // RLIMIT_NICE counts from 1 for 19 to 40 for -20
    if (reason == EPERM || reason == EACCES)
      return usage_error("--nice {}: not permitted to this user; it takes root, CAP_SYS_NICE, or "
                         "RLIMIT_NICE of {} (ulimit -e {})",
                         nice, rlimit_of_zero - nice, rlimit_of_zero - nice);
    return failure("--nice {}: {}", nice, system_reason(reason));
  }
  errno = 0;
  const int granted = getpriority(PRIO_PROCESS, 0);
  if (errno != 0) return failure("--nice {}: {}", nice, system_reason(errno));
  return granted;
}

Status may_have_nice(int nice) {
  Status permitted;
  try {
    // In a separate thread, because lowering it again after raising it needs a privilege.
    std::thread([&] {
      const auto granted = set_own_nice(nice);
      if (!granted) permitted = std::unexpected(granted.error());
    }).join();
  } catch (const std::system_error&) {
    return {};  // no thread can be made here; the permission will show later
  }
  return permitted;
}

}  // namespace millrace::placement
