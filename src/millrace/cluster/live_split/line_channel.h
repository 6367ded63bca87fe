// LineChannel: exchanges lines of text with another program over a socket, without blocking.
#pragma once

#include "millrace/base/descriptor/descriptor.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace millrace::cluster {

// Used by one thread.
class LineChannel {
 public:
  // The channel ends if a line is longer, or if the peer does not read what is sent.
  static constexpr std::size_t most_line_bytes = std::size_t{1} << 20;

  explicit LineChannel(Descriptor socket);

  [[nodiscard]] int descriptor() const { return socket_.get(); }
  // The events to wait for in poll(2).
  [[nodiscard]] short events() const;

  // Reads and writes as much as possible. False once it has ended.
  [[nodiscard]] bool move();
  // The next received line, without its line end.
  [[nodiscard]] std::optional<std::string> next_line();
  // Sent by this call and by move().
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
