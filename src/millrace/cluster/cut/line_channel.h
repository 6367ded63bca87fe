// LineChannel: lines of text from one program to another and back, over a socket that never makes anyone
// wait.
#pragma once

#include "millrace/base/descriptor.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace millrace::cluster {

// Used by one thread.
class LineChannel {
 public:
  // Longer lines end it, as does who does not take what is sent.
  static constexpr std::size_t most_line_bytes = std::size_t{1} << 20;

  explicit LineChannel(Descriptor socket);

  [[nodiscard]] int descriptor() const { return socket_.get(); }
  // What to wait for in poll(2).
  [[nodiscard]] short events() const;

  // Reads and writes what can be. False once it has ended.
  [[nodiscard]] bool move();
  // The next line that has come, without its end.
  [[nodiscard]] std::optional<std::string> next_line();
  // Goes out with this call, and with move().
  void send(std::string_view line);
  // As one line.
  void send_json(const nlohmann::json& message);
  [[nodiscard]] bool all_sent() const { return unsent_.empty(); }

 private:
  void flush();

  Descriptor socket_;
  std::string received_;
  std::string unsent_;
  bool ended_ = false;
};

}  // namespace millrace::cluster
