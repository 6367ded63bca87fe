// DaemonClient: asks a daemon that runs on this machine.
#pragma once

#include "millrace/base/descriptor.h"
#include "millrace/base/result.h"

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json_fwd.hpp>
#include <sys/types.h>

namespace millrace::placement {

// Used by one thread.
class DaemonClient {
 public:
  static constexpr std::chrono::milliseconds usual_patience{5000};

  // To the daemon of this user, else of the system; to `socket` alone where that is not "". Failure, with the
  // way to start one, where none runs. A daemon of somebody who is neither this user nor root is not asked.
  [[nodiscard]] static Result<DaemonClient> connect(const std::string& socket = "",
                                                    std::chrono::milliseconds patience = usual_patience);

  // The parameters of its reply. process: goes with it where it is open. Failure with the daemon's own words
  // where it refuses.
  [[nodiscard]] Result<nlohmann::json> ask(std::string_view method, const nlohmann::json& parameters,
                                           const Descriptor& process = {});

 private:
  DaemonClient(Descriptor socket, std::chrono::milliseconds patience)
      : socket_(std::move(socket)), patience_(patience) {}
  [[nodiscard]] Status send(const std::string& line, const Descriptor& process);
  [[nodiscard]] Result<std::string> receive();

  Descriptor socket_;
  std::chrono::milliseconds patience_;
  std::string received_;
};

}  // namespace millrace::placement
