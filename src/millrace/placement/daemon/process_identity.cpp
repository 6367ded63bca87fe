#include "millrace/placement/daemon/process_identity.h"

#include "millrace/base/file/system_file.h"
#include "millrace/base/text/parse_number.h"
#include "millrace/base/text/take_word.h"
#include "millrace/placement/task/task_files.h"

#include <array>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/syscall.h>

namespace millrace::placement {
namespace {

// Checks the link's name, which does not touch the file itself: a user's file system might block. For other
// kinds of files the kernel's description (such as the files in an epoll set) may be long.
bool is_of_process(int descriptor) {
  std::array<char, 64> name;
  const ssize_t size =
      readlink(fmt::format("/proc/self/fd/{}", descriptor).c_str(), name.data(), name.size());
  const std::string_view text(name.data(), size < 0 ? 0 : static_cast<std::size_t>(size));
  return text == "anon_inode:[pidfd]" || text.starts_with("pidfd:");
}

}  // namespace

std::optional<Peer> peer_of(int socket) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0 || size != sizeof credentials)
    return std::nullopt;
  return Peer{credentials.pid, credentials.uid};
}

Descriptor open_process(pid_t process) {
  return Descriptor::owned(static_cast<int>(syscall(SYS_pidfd_open, process, 0U)));
}

std::optional<pid_t> parse_process_meant_by(std::string_view fdinfo) {
  while (!fdinfo.empty()) {
    std::string_view line = take_line(fdinfo);
    constexpr std::string_view key = "Pid:";
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    const auto number = parse_number<pid_t>(take_word(line));
    return number && *number > 0 ? number : std::nullopt;
  }
  return std::nullopt;
}

std::optional<pid_t> process_meant_by(int descriptor) {
  if (!is_of_process(descriptor)) return std::nullopt;
  const auto text = read_system_file(fmt::format("/proc/self/fdinfo/{}", descriptor));
  return text ? parse_process_meant_by(*text) : std::nullopt;
}

std::optional<ProcessUsers> parse_users(std::string_view status) {
  while (!status.empty()) {
    std::string_view line = take_line(status);
    constexpr std::string_view key = "Uid:";
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    const auto real = parse_number<uid_t>(take_word(line));
    const auto effective = parse_number<uid_t>(take_word(line));
    const auto saved = parse_number<uid_t>(take_word(line));
    if (!real || !effective || !saved) return std::nullopt;
    return ProcessUsers{*real, *effective, *saved};
  }
  return std::nullopt;
}

std::optional<ProcessUsers> users_of(pid_t process) {
  const auto text = read_system_file(fmt::format("/proc/{}/status", process));
  return text ? parse_users(*text) : std::nullopt;
}

std::string parse_cgroup(std::string_view text) {
  std::string first;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    const std::size_t one = line.find(':');
    const std::size_t two = one == std::string_view::npos ? one : line.find(':', one + 1);
    if (two == std::string_view::npos) continue;
    const std::string path(line.substr(two + 1));
    if (two == one + 1 && path != "/") return path;  // version 2 names no controllers
    if (first.empty() || first == "/") first = path;
  }
  return first;
}

// Removes the mark that the kernel appends if the file was deleted.
std::string exe_of(pid_t process) {
  std::array<char, 4096> path;
  const ssize_t size = readlink(fmt::format("/proc/{}/exe", process).c_str(), path.data(), path.size());
  std::string_view text(path.data(), size < 0 ? 0 : static_cast<std::size_t>(size));
  constexpr std::string_view deleted = " (deleted)";
  if (text.ends_with(deleted)) text.remove_suffix(deleted.size());
  return std::string(text);
}

std::optional<ProcessTraits> traits_of(pid_t process) {
  const auto users = users_of(process);
  if (!users) return std::nullopt;
  const auto cgroup = read_system_file(fmt::format("/proc/{}/cgroup", process));
  return ProcessTraits{users->real, exe_of(process), cgroup ? parse_cgroup(*cgroup) : ""};
}

}  // namespace millrace::placement
