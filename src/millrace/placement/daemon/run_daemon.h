// run_daemon: runs the daemon as a process, with its socket, clock and shutdown.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/placement/daemon/unit_daemon.h"

#include <filesystem>
#include <functional>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace millrace::placement {

// The socket's path: daemon.sock in the user's state folder (state_folder.h), or /run/millrace-daemon.sock
// for the system. Fails if there is no such folder.
[[nodiscard]] Result<std::string> daemon_socket(bool of_user);

struct DaemonRun {
  UnitDaemon::Options daemon;
  std::string socket;    // where to listen, unless the service manager passes a socket
  bool for_all = false;  // every user may connect
  // Receives a line for each thing that the daemon lacks here, then one with its address; may be empty.
  std::function<void(const std::string& line)> tell;
  // Receives everything it knows, as Status answers root, at most once a second; may be empty.
  std::function<void(const nlohmann::json&)> observed;
};

// Runs until SIGINT, SIGTERM or SIGHUP, then restores all threads. If this process is killed, a guardian
// restores them, or else the next daemon with the same state folder. Call this while the process is
// single-threaded.
[[nodiscard]] Status run_daemon(DaemonRun run);

}  // namespace millrace::placement
