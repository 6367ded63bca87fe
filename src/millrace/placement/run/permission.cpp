#include "millrace/placement/run/permission.h"

#include "millrace/base/parse_number.h"
#include "millrace/base/system_file.h"
#include "millrace/base/system_reason.h"
#include "millrace/base/take_word.h"

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
  // Slices are for threads of the fair classes. Started under another, the program may have such threads all
  // the same, and nobody may try it here.
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
    return {};  // no thread may be made here: whether it is permitted, the program's first thread shows
  }
  return permitted;
}

Status may_trace() {
  // There is no process 0: whoever may trace is told so, and a filter of system calls says something else.
  constexpr pid_t nobody = 0;
  if (ptrace(PTRACE_SEIZE, nobody, nullptr, nullptr) != 0 && errno != ESRCH)
    return failure("ptrace is not permitted here: {} (a filter of system calls, as of containers)",
                   system_reason(errno));
  // Of Yama: 2 wants CAP_SYS_PTRACE, 3 lets nobody trace.
  constexpr int privileged = 2;
  const auto text = read_system_file("/proc/sys/kernel/yama/ptrace_scope");
  std::string_view rest = text ? std::string_view(*text) : "";
  const int scope = parse_number<int>(take_word(rest)).value_or(0);
  if (scope > privileged || (scope == privileged && geteuid() != 0))
    return failure("ptrace is not permitted here: kernel.yama.ptrace_scope is {}", scope);
  return {};
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
