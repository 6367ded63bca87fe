#include "millrace/placement/run/permission.h"

#include "millrace/base/error/system_reason.h"
#include "millrace/base/file/system_file.h"
#include "millrace/base/text/parse_number.h"
#include "millrace/base/text/take_word.h"

#include <cerrno>
#include <string_view>
#include <system_error>
#include <thread>
#include <unistd.h>

#include <sys/ptrace.h>
#include <sys/resource.h>

namespace millrace::placement {

Status may_give(const machine::SchedulingChange& change) {
  if (change == machine::SchedulingChange()) return {};
  // Only fair classes have slices. If this process was started under another class, the program may still
  // have fair threads, but that cannot be tried here.
  const auto own = machine::scheduling_attributes(0);
  if (!change.scheduling_class && own && !machine::is_fair(own->scheduling_class) &&
      machine::default_slice_ns() != 0)
    return {};
  Status permitted;
  try {
    std::thread([&] {
      const auto granted = machine::change_scheduling(0, change);
      if (!granted) permitted = std::unexpected(granted.error());
    }).join();
  } catch (const std::system_error&) {
    return {};  // no thread can be made here; the program's first thread will show whether it is permitted
  }
  return permitted;
}

Status may_trace() {
  // There is no process 0, so a process that may trace gets ESRCH. A system call filter gives another error.
  constexpr pid_t nobody = 0;
  if (ptrace(PTRACE_SEIZE, nobody, nullptr, nullptr) != 0 && errno != ESRCH)
    return failure("ptrace is not permitted here: {} (by a system call filter, as in containers)",
                   system_reason(errno));
  // Yama's values: 2 needs CAP_SYS_PTRACE, 3 forbids tracing.
  constexpr int privileged = 2;
  const auto text = read_system_file("/proc/sys/kernel/yama/ptrace_scope");
  std::string_view rest = text ? std::string_view(*text) : "";
  const int scope = parse_number<int>(take_word(rest)).value_or(0);
  if (scope > privileged || (scope == privileged && geteuid() != 0))
    return failure("ptrace is not permitted here: kernel.yama.ptrace_scope is {}", scope);
  return {};
}

Status may_schedule(pid_t process, const std::string& name) {
  // Sets the nice value to what it is. That changes nothing and needs the same permission.
  errno = 0;
  const int nice = getpriority(PRIO_PROCESS, static_cast<id_t>(process));
  if (errno == 0 && setpriority(PRIO_PROCESS, static_cast<id_t>(process), nice) == 0) return {};
  if (errno != EPERM && errno != EACCES) return {};
  return failure("process {} ({}) belongs to another user: only that user, and root, may place its threads",
                 process, name);
}

}  // namespace millrace::placement
