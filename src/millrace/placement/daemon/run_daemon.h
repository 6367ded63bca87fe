// run_daemon: the daemon as a process: its socket, its clock, its end.
#pragma once

#include "millrace/base/result.h"
#include "millrace/placement/daemon/unit_daemon.h"

#include <filesystem>
#include <functional>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace millrace::placement {

// Where a daemon of a user, or of the system, listens: daemon.sock in the user's state folder
// (state_folder.h), /run/millrace-daemon.sock. Failure where there is no such folder.
[[nodiscard]] Result<std::string> daemon_socket(bool of_user);

struct DaemonRun {
  UnitDaemon::Options daemon;
  std::string socket;    // where to listen, unless the service manager does already
  bool for_all = false;  // every user may connect
  // Told in a line each what the daemon lacks here, then where it listens; may be empty.
  std::function<void(const std::string& line)> tell;
  // Told all that it knows, as Status answers root, at most each second; may be empty.
  std::function<void(const nlohmann::json&)> observed;
};

// Until SIGINT, SIGTERM or SIGHUP, then everything is given back what it had; so it is by a guardian where
// this process is killed, and else by the next daemon of the same state folder. To be called while this
// process has one thread only.
[[nodiscard]] Status run_daemon(DaemonRun run);

}  // namespace millrace::placement
