// DaemonRequest: what a client asks of the daemon, a line of JSON in the shape of varlink. Pure.
//
//   {"method": "org.millrace.daemon1.Watch", "parameters": {"pid": 4711}}
//   {"parameters": {"program": 1}}
//   {"error": "org.millrace.daemon1.NotPermitted", "parameters": {"message": "process 1 belongs to user 0"}}
//
// One reply for each request, in their order. A process is meant by a descriptor of it (pidfd_open) that
// comes with the line (SCM_RIGHTS): a number alone may mean another one by the time it is read. Within one
// version of the interface methods, parameters and members of replies are added, never changed.
#pragma once

#include "millrace/base/result.h"

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
// Of a request, without the end of its line.
inline constexpr std::size_t longest_request = 65536;

// Which programs: exactly one is said.
struct DaemonTarget {
  std::optional<pid_t> process;
  std::string cgroup;  // "/user.slice/render.scope": all of a control group and those below it
  std::string exe;     // pattern (fits_pattern) of the path of what a process executes: "*/x264"
  [[nodiscard]] bool none() const { return !process && cgroup.empty() && exe.empty(); }
  [[nodiscard]] friend bool operator==(const DaemonTarget&, const DaemonTarget&) = default;
};

struct DaemonRequest {
  enum class Method { info, watch, announce, unwatch, status, explain, pause };
  Method method = Method::info;
  DaemonTarget target;   // of watch, announce, unwatch; of pause, where it is not everything
  std::string program;   // of explain: a PID, a name, a control group
  bool threads = false;  // of status: with each thread
  bool resume = false;   // of pause: its end
};

// Why a request is refused: a name for programs, and one line for a person.
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

// Whatever the text, it answers. Names in refusals are fit for a terminal.
[[nodiscard]] DaemonResult<DaemonRequest> parse_daemon_request(std::string_view line);

// A request as a line, and what it asks for as parse_daemon_request() reads it.
[[nodiscard]] std::string daemon_request_line(std::string_view method, const nlohmann::json& parameters);

template <class... Args>
std::unexpected<DaemonRefusal> refuse(DaemonError error, fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(DaemonRefusal{name_of(error), fmt::format(format, std::forward<Args>(args)...)});
}

}  // namespace millrace::placement
