#include "millrace/placement/apply/thread_times.h"

#include "millrace/base/file/system_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace millrace::placement {
namespace {

// Distinguishes a missing thread from other errors, such as too many open files or no memory.
bool is_gone(int error) { return error == ENOENT || error == ESRCH; }

}  // namespace

std::optional<bool> ThreadTimes::read(pid_t process, pid_t number) {
  Thread& thread = threads_[number];
  Descriptor opened;
  if (!thread.schedstat.is_open()) {
    opened = Descriptor::owned(
        open(fmt::format("/proc/{}/task/{}/schedstat", process, number).c_str(), O_RDONLY | O_CLOEXEC));
    if (!opened.is_open()) return is_gone(errno) ? std::nullopt : std::optional(false);
  }
  const int file = opened.is_open() ? opened.get() : thread.schedstat.get();
  std::array<char, 96> text{};
  const ssize_t size = pread(file, text.data(), text.size(), 0);
  if (opened.is_open() && open_files_ < most_open_files_) {
    thread.schedstat = std::move(opened);
    ++open_files_;
  }
  const auto now = parse_schedstat({text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))});
  if (!now) return std::nullopt;
  const RunTimes more = *now - thread.times;
  sum_ += more;
  thread.times = *now;
  const bool has_run = more.run_ns != 0 || more.turns != 0;
  if (has_run) may_have_moved_[number] = process;
  return has_run;
}

void ThreadTimes::read_migrations(int most) {
  for (int i = 0; i < most && !may_have_moved_.empty(); ++i) {
    auto next = may_have_moved_.upper_bound(last_read_);
    if (next == may_have_moved_.end()) next = may_have_moved_.begin();
    last_read_ = next->first;
    read_migrations_of(next->second, next->first);
    may_have_moved_.erase(next);
  }
}

void ThreadTimes::read_migrations_of(pid_t process, pid_t number) {
  const auto text = read_system_file(fmt::format("/proc/{}/task/{}/sched", process, number));
  const auto now = text ? parse_field(*text, "se.nr_migrations") : std::nullopt;
  if (!now) return;
  Thread& thread = threads_[number];
  migrations_ += *now - thread.migrations;
  thread.migrations = *now;
}

void ThreadTimes::ended(pid_t number) {
  may_have_moved_.erase(number);
  const auto thread = threads_.find(number);
  if (thread == threads_.end()) return;
  if (thread->second.schedstat.is_open()) --open_files_;
  threads_.erase(thread);
}

void ThreadTimes::renumber(pid_t former, pid_t number) {
  may_have_moved_.erase(former);
  auto thread = threads_.extract(former);
  if (thread.empty()) return;
  // The old file name is no longer valid.
  if (thread.mapped().schedstat.is_open()) --open_files_;
  thread.mapped().schedstat.close();
  thread.key() = number;
  ended(number);
  threads_.insert(std::move(thread));
}

}  // namespace millrace::placement
