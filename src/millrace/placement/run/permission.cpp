#include "millrace/placement/run/permission.h"

#include <cerrno>
#include <system_error>
#include <thread>

#include <sys/resource.h>

namespace millrace::placement {

Status may_give(const machine::SchedulingChange& change) {
  if (change == machine::SchedulingChange()) return {};
  Status permitted;
  try {
    std::thread([&] {
      const auto granted = machine::change_scheduling(0, change);
      if (!granted) permitted = std::unexpected(granted.error());
    }).join();
  } catch (const std::system_error&) {
    return {};  // no thread may be made here: whether it is permitted, the program's first thread shows
  }
  return permitted;
}

Status may_schedule(pid_t process, const std::string& name) {
  // Its nice value is set to what it is, which changes nothing and is permitted to those who may.
  errno = 0;
  const int nice = getpriority(PRIO_PROCESS, static_cast<id_t>(process));
  if (errno == 0 && setpriority(PRIO_PROCESS, static_cast<id_t>(process), nice) == 0) return {};
  if (errno != EPERM && errno != EACCES) return {};
  return failure("process {} ({}) belongs to another user: only that user, and root, may place its threads",
                 process, name);
}

}  // namespace millrace::placement
