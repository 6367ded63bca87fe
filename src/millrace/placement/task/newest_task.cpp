#include "millrace/placement/task/newest_task.h"

#include "millrace/base/parse_number.h"

#include <array>
#include <cstddef>
#include <fcntl.h>
#include <unistd.h>

#include <linux/magic.h>
#include <sys/vfs.h>

namespace millrace::placement {

NewestTask::NewestTask() : file_(Descriptor::owned(open("/proc/loadavg", O_RDONLY | O_CLOEXEC))) {
  // Some containers lay a file of their own over it, which is some seconds old.
  struct statfs system{};
  if (file_.is_open() && (fstatfs(file_.get(), &system) != 0 || system.f_type != PROC_SUPER_MAGIC))
    file_.close();
}

std::optional<pid_t> NewestTask::read() const {
  if (!file_.is_open()) return std::nullopt;
  std::array<char, 128> text{};
  const ssize_t size = pread(file_.get(), text.data(), text.size(), 0);
  return size <= 0 ? std::nullopt : parse_newest_task({text.data(), static_cast<std::size_t>(size)});
}

std::optional<pid_t> parse_newest_task(std::string_view text) {
  if (!text.ends_with('\n')) return std::nullopt;
  text.remove_suffix(1);
  const std::size_t blank = text.rfind(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  return parse_number<pid_t>(text.substr(blank + 1));
}

}  // namespace millrace::placement
