// Identifies processes, their owners and clients by facts that the kernel guarantees.
#pragma once

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/error/result.h"
#include "millrace/placement/daemon/daemon_settings.h"

#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace millrace::placement {

// The other end of a connection, as it was when it connected (SO_PEERCRED).
struct Peer {
  pid_t process = 0;
  uid_t user = 0;
};
[[nodiscard]] std::optional<Peer> peer_of(int socket);

// Returns a pidfd; closed if there is no such process.
[[nodiscard]] Descriptor open_process(pid_t process);
// The number of the process that a pidfd refers to; nothing if it is not a pidfd or the process has ended.
// Does not change the descriptor.
[[nodiscard]] std::optional<pid_t> process_meant_by(int descriptor);
// Parses /proc/self/fdinfo/N. Pure.
[[nodiscard]] std::optional<pid_t> parse_process_meant_by(std::string_view fdinfo);

// The three user IDs. A process belongs to a user only if all three are the user's.
struct ProcessUsers {
  uid_t real = 0;
  uid_t effective = 0;
  uid_t saved = 0;
  [[nodiscard]] bool all(uid_t user) const { return real == user && effective == user && saved == user; }
};
// Parses /proc/PID/status.
[[nodiscard]] std::optional<ProcessUsers> parse_users(std::string_view status);
[[nodiscard]] std::optional<ProcessUsers> users_of(pid_t process);

// Returns the control group of a process: the one of version 2, or else of the first controller with one:
// "/user.slice". Parses /proc/PID/cgroup. Pure.
[[nodiscard]] std::string parse_cgroup(std::string_view text);

// Path of a process's executable; "" if it may not be read.
[[nodiscard]] std::string exe_of(pid_t process);

// Returns nothing if the process is gone. Members that may not be read, such as the path of another user's
// program, are empty.
[[nodiscard]] std::optional<ProcessTraits> traits_of(pid_t process);

}  // namespace millrace::placement
