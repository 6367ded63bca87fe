// Which process is meant, whose it is, and who asks: what the kernel vouches for.
#pragma once

#include "millrace/base/descriptor.h"
#include "millrace/base/result.h"
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

// A descriptor of a process (pidfd); none where there is no such process.
[[nodiscard]] Descriptor open_process(pid_t process);
// The process that a descriptor means, by its number here; nothing where it means none, or one that has
// ended. Nothing is done to the descriptor.
[[nodiscard]] std::optional<pid_t> process_meant_by(int descriptor);
// Pure: of /proc/self/fdinfo/N.
[[nodiscard]] std::optional<pid_t> parse_process_meant_by(std::string_view fdinfo);

// All of them: a process that has another one of these is not a user's own.
struct ProcessUsers {
  uid_t real = 0;
  uid_t effective = 0;
  uid_t saved = 0;
  [[nodiscard]] bool all(uid_t user) const { return real == user && effective == user && saved == user; }
};
// Of /proc/PID/status.
[[nodiscard]] std::optional<ProcessUsers> parse_users(std::string_view status);
[[nodiscard]] std::optional<ProcessUsers> users_of(pid_t process);

// The control group of a process, in version 2, else of the first controller by which it is in one:
// "/user.slice". Pure, of
// /proc/PID/cgroup.
[[nodiscard]] std::string parse_cgroup(std::string_view text);

// The path of what a process executes; "" where that may not be read.
[[nodiscard]] std::string exe_of(pid_t process);

// Nothing where it is gone. What may not be read, such as the path of another user's program, is empty.
[[nodiscard]] std::optional<ProcessTraits> traits_of(pid_t process);

}  // namespace millrace::placement
