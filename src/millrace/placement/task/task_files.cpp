#include "millrace/placement/task/task_files.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/file/system_file.h"
#include "millrace/base/text/parse_number.h"
#include "millrace/base/text/take_word.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <dirent.h>
#include <filesystem>
#include <memory>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace millrace::placement {

RunTimes& RunTimes::operator+=(const RunTimes& other) {
  run_ns += other.run_ns;
  wait_ns += other.wait_ns;
  turns += other.turns;
  return *this;
}

std::optional<RunTimes> parse_schedstat(std::string_view text) {
  const auto run = parse_number<std::int64_t>(take_word(text));
  const auto wait = parse_number<std::int64_t>(take_word(text));
  const auto turns = parse_number<std::int64_t>(take_word(text));
  if (!run || !wait || !turns) return std::nullopt;
  return RunTimes{*run, *wait, *turns};
}

bool TaskStat::of_kernel() const {
  constexpr std::uint32_t kernel_thread = 0x0020'0000;
  constexpr std::uint32_t io_worker = 0x10;
  constexpr std::uint32_t user_worker = 0x4000;
  return (flags & (kernel_thread | io_worker | user_worker)) != 0;
}

std::optional<TaskStat> parse_task_stat(std::string_view text) {
  // A name may contain blanks and parentheses; the last ')' ends it.
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  TaskStat stat;
  stat.name = text.substr(open + 1, close - open - 1);
  text.remove_prefix(close + 1);
  const std::string_view state = take_word(text);
  const auto parent = parse_number<pid_t>(take_word(text));
  constexpr int columns_before_flags = 4;  // group, session, terminal and its foreground group
  for (int i = 0; i < columns_before_flags; ++i)
    take_word(text);
  const auto flags = parse_number<std::uint32_t>(take_word(text));
  constexpr int columns_between = 12;  // from minflt to itrealvalue
  for (int i = 0; i < columns_between; ++i)
    take_word(text);
  const auto start_time = parse_number<std::uint64_t>(take_word(text));
  constexpr int columns_before_cpu = 16;  // from vsize to exit_signal
  for (int i = 0; i < columns_before_cpu; ++i)
    take_word(text);
  stat.cpu = parse_number<int>(take_word(text)).value_or(-1);
  if (state.size() != 1 || !parent || !flags || !start_time) return std::nullopt;
  stat.state = state.front();
  stat.parent = *parent;
  stat.flags = *flags;
  stat.start_time = *start_time;
  return stat;
}

std::optional<std::int64_t> parse_field(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (!line.starts_with(name)) continue;
    line.remove_prefix(name.size());
    line.remove_prefix(std::min(line.find_first_not_of(between_words), line.size()));
    if (!line.starts_with(':')) continue;
    line.remove_prefix(1);
    return parse_number<std::int64_t>(take_word(line));
  }
  return std::nullopt;
}

std::optional<TaskStat> read_task_stat(pid_t process, pid_t thread) {
  const auto text = read_system_file(fmt::format("/proc/{}/task/{}/stat", process, thread));
  return text ? parse_task_stat(*text) : std::nullopt;
}

std::vector<pid_t> list_threads(pid_t process) {
  std::vector<pid_t> threads;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(fmt::format("/proc/{}/task", process).c_str()),
                                                   closedir);
  if (!folder) return threads;
  while (const dirent* entry = readdir(folder.get()))
    if (const auto thread = parse_number<pid_t>(entry->d_name)) threads.push_back(*thread);
  return threads;
}

std::optional<std::int64_t> run_time_of_process(pid_t process) {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) return std::nullopt;
  return nanoseconds(time);
}

std::optional<std::int64_t> transferred_bytes(pid_t process) {
  const auto text = read_system_file(fmt::format("/proc/{}/io", process));
  if (!text) return std::nullopt;
  const auto in = parse_field(*text, "rchar");
  const auto out = parse_field(*text, "wchar");
  if (!in || !out) return std::nullopt;
  return *in + *out;
}

bool is_pending(pid_t process, int signal) {
  const auto text = read_system_file(fmt::format("/proc/{}/status", process));
  if (!text) return false;
  for (const std::string_view name : {"\nShdPnd:", "\nSigPnd:"}) {
    const std::size_t found = text->find(name);
    if (found == std::string::npos) continue;
    std::string_view rest = std::string_view(*text).substr(found + name.size());
    const std::string_view word = take_word(rest);
    std::uint64_t signals = 0;
    std::from_chars(word.data(), word.data() + word.size(), signals, 16);
    if ((signals >> (signal - 1) & 1) != 0) return true;
  }
  return false;
}

bool proc_is_of_this_namespace() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self", error) == std::to_string(getpid());
}

bool children_leave_this_namespace() {
  constexpr const char* for_children = "/proc/self/ns/pid_for_children";
  struct stat own{};
  struct stat link{};
  // Linux 4.12 is the first with the second file.
  if (stat("/proc/self/ns/pid", &own) != 0 || lstat(for_children, &link) != 0) return false;
  struct stat of_children{};
  // A namespace that has no process yet cannot be opened.
  if (stat(for_children, &of_children) != 0) return errno == ENOENT;
  return of_children.st_ino != own.st_ino;
}

std::uint64_t ticks_since_boot() {
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  constexpr std::int64_t ns_for_second = 1'000'000'000;
  const std::int64_t ns_for_tick = ns_for_second / sysconf(_SC_CLK_TCK);
  return static_cast<std::uint64_t>((time.tv_sec * ns_for_second + time.tv_nsec) / ns_for_tick);
}

pid_t process_of(pid_t thread) {
  const auto text = read_system_file(fmt::format("/proc/{}/status", thread));
  return text ? static_cast<pid_t>(parse_field(*text, "Tgid").value_or(0)) : 0;
}

bool is_thread_of(pid_t thread, pid_t process) {
  return syscall(SYS_tgkill, process, thread, 0) == 0 || errno == EPERM;
}

pid_t tracer_of(pid_t process) {
  const auto text = read_system_file(fmt::format("/proc/{}/status", process));
  return text ? static_cast<pid_t>(parse_field(*text, "TracerPid").value_or(0)) : 0;
}

}  // namespace millrace::placement
