// DaemonClient: queries a daemon that runs on this machine.
#pragma once

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/error/result.h"
#include "millrace/base/socket/line_channel.h"

#include <chrono>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>
#include <sys/types.h>

namespace millrace::placement {

// Not thread-safe.
class DaemonClient {
 public:
  static constexpr std::chrono::milliseconds usual_patience{5000};

  // Connects to the daemon of this user, or to the system's; only to `socket` if that is not "". Fails with
  // advice if no daemon runs. A daemon of a user other than this one and root is not trusted.
  [[nodiscard]] static Result<DaemonClient> connect(const std::string& socket = "",
                                                    std::chrono::milliseconds patience = usual_patience);

  // Returns the parameters of the reply. process: sent along if it is open. If the daemon refuses, fails with
  // the daemon's message.
  [[nodiscard]] Result<nlohmann::json> ask(std::string_view method, const nlohmann::json& parameters,
                                           const Descriptor& process = {});

 private:
  DaemonClient(Descriptor socket, std::chrono::milliseconds patience);
  [[nodiscard]] Status send(const std::string& line, const Descriptor& process);
  [[nodiscard]] Result<std::string> receive();

  LineChannel channel_;
  std::chrono::milliseconds patience_;
};

}  // namespace millrace::placement
