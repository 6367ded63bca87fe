#include "millrace/placement/run/orphans.h"

#include "millrace/base/file/system_file.h"
#include "millrace/placement/task/children.h"
#include "millrace/placement/task/task_files.h"

#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

namespace millrace::placement {
namespace {

// Returns -1 if the process is gone.
uid_t user_of(pid_t process) {
  struct stat status{};
  return stat(fmt::format("/proc/{}", process).c_str(), &status) == 0 ? status.st_uid
                                                                      : static_cast<uid_t>(-1);
}

std::string control_group_of(pid_t process) {
  return read_system_file(fmt::format("/proc/{}/cgroup", process)).value_or("");
}

}  // namespace

Orphans Orphans::of_launched(std::set<pid_t> own) {
  Orphans orphans;
  orphans.given_to_ = {getpid()};
  orphans.others_ = std::move(own);
  return orphans;
}

Orphans Orphans::of_joined(pid_t program) {
  Orphans orphans;
  orphans.joined_ = true;
  orphans.since_ = ticks_since_boot();
  orphans.user_ = user_of(program);
  orphans.control_group_ = control_group_of(program);
  for (auto stat = read_task_stat(program, program); stat && stat->parent != 0;
       stat = read_task_stat(stat->parent, stat->parent))
    orphans.given_to_.push_back(stat->parent);
  return orphans;
}

bool Orphans::descends(pid_t process, const ThreadRegister& threads) const {
  const auto stat = read_task_stat(process, process);
  return stat && stat->start_time >= since_ && user_of(process) == user_ &&
         control_group_of(process) == control_group_ && threads.has_what_was_given(process);
}

std::vector<pid_t> Orphans::find(const ThreadRegister& threads) {
  std::vector<pid_t> found;
  std::set<pid_t> others;
  for (const pid_t process : given_to_)
    for (const pid_t child : list_children(process)) {
      if (threads.knows(child)) continue;
      if (others_.contains(child) || (joined_ && !descends(child, threads)))
        others.insert(child);
      else
        found.push_back(child);
    }
  // Forgets those that have ended, because their numbers are reused.
  if (joined_) others_ = std::move(others);
  return found;
}

}  // namespace millrace::placement
