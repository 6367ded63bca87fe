#include "millrace/placement/apply/births_under_way.h"

#include "millrace/base/file/system_file.h"
#include "millrace/placement/task/task_files.h"

#include <limits>
#include <optional>

#include <fmt/format.h>

namespace millrace::placement {
namespace {

// fork() copies page tables: about 15 ms for each GB of memory.
constexpr std::int64_t longest_fork_ns = 50'000'000;
constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();

std::optional<std::int64_t> run_time_of(pid_t process, pid_t thread) {
  const auto text = read_system_file(fmt::format("/proc/{}/task/{}/schedstat", process, thread));
  const auto times = text ? parse_schedstat(*text) : std::nullopt;
  return times ? std::optional(times->run_ns) : std::nullopt;
}

}  // namespace

bool BirthsUnderWay::any(const std::vector<pid_t>& processes) {
  bool found = false;
  for (const pid_t process : processes)
    for (const pid_t thread : list_threads(process)) {
      const auto seen = running_since_.find(thread);
      if (seen != running_since_.end() && seen->second == none) continue;
      const auto stat = read_task_stat(process, thread);
      const auto run_ns = run_time_of(process, thread);
      if (!stat || !run_ns || (stat->state != 'R' && stat->state != 'D')) {
        running_since_[thread] = none;
      } else if (seen == running_since_.end()) {
        running_since_[thread] = *run_ns;
        found = true;
      } else if (*run_ns - seen->second > longest_fork_ns) {
        seen->second = none;
      } else {
        found = true;
      }
    }
  return found;
}

}  // namespace millrace::placement
