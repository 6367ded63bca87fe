// LineChannel: exchanges lines of text with another program over a socket, without blocking. The other
// program is not trusted.
//
//   LineChannel channel(std::move(socket));
//   pollfd waited{channel.descriptor(), channel.events(), 0};
//   poll(&waited, 1, -1);
//   const bool there = channel.move();
//   while (const auto line = channel.next_line())
//     channel.send(*line);
#pragma once

#include "millrace/base/descriptor/descriptor.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace millrace {

// If one of them is exceeded, the channel ends.
struct LineLimits {
  std::size_t line_bytes = std::size_t{1} << 20;    // of a received line, without its line end
  std::size_t unsent_bytes = std::size_t{1} << 20;  // that the other program does not read
};

// Used by one thread.
class LineChannel {
 public:
  explicit LineChannel(Descriptor socket, LineLimits limits = {})
      : socket_(std::move(socket)), limits_(limits) {}

  [[nodiscard]] int descriptor() const { return socket_.get(); }
  // The events to wait for in poll(2), after all lines were taken.
  [[nodiscard]] short events() const;

  // Sends and receives what is possible at once. False once it has ended and all lines were taken.
  [[nodiscard]] bool move();
  // Nothing more will be received. After the other program's last line, sending may still work.
  [[nodiscard]] bool has_ended() const { return ended_; }

  // Receives some bytes, unless there is a line to take. Adds descriptors that came with them (SCM_RIGHTS) to
  // `passed`; a closed one stands for those that did not fit.
  void receive(std::vector<Descriptor>* passed = nullptr);
  [[nodiscard]] bool has_line() const { return line_end_ != std::string::npos; }
  // The next received line, without its line end.
  [[nodiscard]] std::optional<std::string> next_line();
  // True if bytes were received that were not taken as a line.
  [[nodiscard]] bool has_unread() const { return received_.size() > taken_; }

  // Sent by this call, and by flush() and move().
  void send(std::string_view line);
  // As one line.
  void send_json(const nlohmann::json& message);
  // Adds lines, with their line ends, to what flush() sends.
  void put(std::string_view lines);
  void flush();
  [[nodiscard]] std::size_t unsent_bytes() const { return unsent_.size(); }
  [[nodiscard]] bool all_sent() const { return unsent_.empty(); }

  // The connection, for another use.
  [[nodiscard]] Descriptor take_socket() && { return std::move(socket_); }

 private:
  void find_line_end(std::size_t from);
  void end();

  Descriptor socket_;
  LineLimits limits_;
  std::string received_;
  std::size_t taken_ = 0;                     // bytes of it that were taken as lines
  std::size_t line_end_ = std::string::npos;  // of the first line in it that was not taken
  std::string unsent_;
  bool ended_ = false;
};

}  // namespace millrace
