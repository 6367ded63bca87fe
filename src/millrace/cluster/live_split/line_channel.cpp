#include "millrace/cluster/live_split/line_channel.h"

#include <array>
#include <cerrno>
#include <poll.h>
#include <utility>

#include <nlohmann/json.hpp>
#include <sys/socket.h>

namespace millrace::cluster {

LineChannel::LineChannel(Descriptor socket) : socket_(std::move(socket)) {}

short LineChannel::events() const { return static_cast<short>(unsent_.empty() ? POLLIN : POLLIN | POLLOUT); }

bool LineChannel::move() {
  flush();
  std::array<char, 16384> bytes{};
  while (!ended_ && received_.size() <= most_line_bytes) {
    const ssize_t count = recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count > 0) {
      received_.append(bytes.data(), static_cast<std::size_t>(count));
      continue;
    }
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    ended_ = true;
  }
  if (received_.size() > most_line_bytes && !received_.contains('\n')) ended_ = true;
  return !ended_ || received_.contains('\n');
}

std::optional<std::string> LineChannel::next_line() {
  const std::size_t end = received_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = received_.substr(0, end);
  received_.erase(0, end + 1);
  return line;
}

void LineChannel::send(std::string_view line) {
  unsent_ += line;
  unsent_ += '\n';
  flush();
}

void LineChannel::send_json(const nlohmann::json& message) {
  send(message.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
}

void LineChannel::flush() {
  while (!ended_ && !unsent_.empty()) {
    const ssize_t count = ::send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (count < 0) {
      ended_ = true;
      return;
    }
    unsent_.erase(0, static_cast<std::size_t>(count));
  }
  if (unsent_.size() > most_line_bytes) ended_ = true;
}

}  // namespace millrace::cluster
