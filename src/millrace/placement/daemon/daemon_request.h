// DaemonRequest: a client's request to the daemon, a line of JSON in varlink format. Pure.
//
//   {"method": "org.millrace.daemon1.Watch", "parameters": {"pid": 4711}}
//   {"parameters": {"program": 1}}
//   {"error": "org.millrace.daemon1.NotPermitted", "parameters": {"message": "process 1 belongs to user 0"}}
//
// Each request gets one reply, in order. A process is identified by a pidfd that is sent with the line
// (SCM_RIGHTS), because a number may mean another process by the time it is read. Within one version of the
// interface, methods, parameters and reply members may be added but not changed.
#pragma once

#include "millrace/base/error/result.h"

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>
#include <sys/types.h>

namespace millrace::placement {

inline constexpr std::string_view daemon_interface = "org.millrace.daemon1";
// Length of a request without its newline.
inline constexpr std::size_t longest_request = 65536;

// The programs that are meant: exactly one member is set.
struct DaemonTarget {
  std::optional<pid_t> process;
  std::string cgroup;  // "/user.slice/render.scope": everything in the control group and those below it
  std::string exe;     // pattern (fits_pattern) for the path of a process's executable: "*/x264"
  [[nodiscard]] bool none() const { return !process && cgroup.empty() && exe.empty(); }
  [[nodiscard]] friend bool operator==(const DaemonTarget&, const DaemonTarget&) = default;
};

struct DaemonRequest {
  enum class Method { info, watch, announce, unwatch, status, explain, pause };
  Method method = Method::info;
  DaemonTarget target;   // for watch, announce and unwatch; for pause, unless everything is paused
  std::string program;   // for explain: a PID, a name or a control group
  bool threads = false;  // for status: list every thread
  bool resume = false;   // for pause: end it
};

// Why a request is refused: an error name for programs and a line for people.
struct DaemonRefusal {
  std::string error;  // "org.millrace.daemon1.NotPermitted"
  std::string message;
};
template <class T> using DaemonResult = std::expected<T, DaemonRefusal>;

enum class DaemonError { invalid, unknown_method, not_permitted, not_found, excluded, too_many, failed };
template <class... Args>
[[nodiscard]] std::unexpected<DaemonRefusal> refuse(DaemonError error, fmt::format_string<Args...> format,
                                                    Args&&... args);
[[nodiscard]] std::string name_of(DaemonError error);

// Accepts any text. Names in refusals are safe for a terminal.
[[nodiscard]] DaemonResult<DaemonRequest> parse_daemon_request(std::string_view line);

// Writes the line of a request; parse_daemon_request() reads it back.
[[nodiscard]] std::string daemon_request_line(std::string_view method, const nlohmann::json& parameters);

template <class... Args>
std::unexpected<DaemonRefusal> refuse(DaemonError error, fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(DaemonRefusal{name_of(error), fmt::format(format, std::forward<Args>(args)...)});
}

}  // namespace millrace::placement
