#include "millrace/placement/daemon/other_tuner.h"

#include "millrace/base/file/system_file.h"
#include "millrace/base/text/parse_number.h"
#include "millrace/placement/task/task_files.h"

#include <dirent.h>
#include <memory>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/stat.h>

namespace millrace::placement {
namespace {

// Any user can give a process any name. That must not keep other users' programs from being placed.
bool is_trusted(const std::filesystem::path& process) {
  struct stat status{};
  return stat(process.c_str(), &status) == 0 && (status.st_uid == 0 || status.st_uid == geteuid());
}

}  // namespace

std::string other_tuner(const std::filesystem::path& system, const std::filesystem::path& processes) {
  if (read_system_file(system / "kernel/sched_ext/state").value_or("").starts_with("enabled"))
    return "a sched_ext scheduler is loaded, which places threads itself";
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(processes.c_str()), closedir);
  while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
    if (!parse_number<pid_t>(entry->d_name)) continue;
    const std::filesystem::path process = processes / entry->d_name;
    if (read_system_file(process / "comm").value_or("") == "numad\n" && is_trusted(process))
      return fmt::format("numad is running (process {}), which places processes itself", entry->d_name);
  }
  return "";
}

}  // namespace millrace::placement
