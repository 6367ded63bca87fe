#include "millrace/base/socket/line_channel.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <poll.h>

#include <nlohmann/json.hpp>
#include <sys/socket.h>

namespace millrace {
namespace {

bool would_wait() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

void take_descriptors(const msghdr& message, std::vector<Descriptor>& taken) {
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);  // there is room for one only
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(header) + i * sizeof number, sizeof number);
      taken.push_back(Descriptor::owned(number));
    }
  }
  if ((message.msg_flags & MSG_CTRUNC) != 0) taken.emplace_back();
}

}  // namespace

short LineChannel::events() const {
  return static_cast<short>((ended_ ? 0 : POLLIN) | (unsent_.empty() ? 0 : POLLOUT));
}

bool LineChannel::move() {
  flush();
  receive();
  return !ended_ || has_line();
}

void LineChannel::receive(std::vector<Descriptor>* passed) {
  if (ended_ || has_line()) return;
  received_.erase(0, std::exchange(taken_, 0));
  constexpr std::size_t at_once = 16384;
  std::array<char, at_once> part;
  iovec buffer{part.data(), part.size()};
  // Room for one descriptor. If alignment leaves room for two, the kernel passes two; it closes those that do
  // not fit.
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &buffer;
  message.msg_iovlen = 1;
  if (passed != nullptr) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
  }
  const ssize_t size = recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (size <= 0) {
    ended_ = size == 0 || !would_wait();
    return;
  }
  if (passed != nullptr) take_descriptors(message, *passed);
  received_.append(part.data(), static_cast<std::size_t>(size));
  find_line_end(received_.size() - static_cast<std::size_t>(size));
}

// Each byte is searched once, however the bytes arrive.
void LineChannel::find_line_end(std::size_t from) {
  line_end_ = received_.find('\n', from);
  if (std::min(line_end_, received_.size()) - taken_ > limits_.line_bytes) end();
}

std::optional<std::string> LineChannel::next_line() {
  if (!has_line()) return std::nullopt;
  std::string line = received_.substr(taken_, line_end_ - taken_);
  taken_ = line_end_ + 1;
  find_line_end(taken_);
  return line;
}

void LineChannel::send(std::string_view line) {
  put(line);
  put("\n");
  flush();
}

void LineChannel::send_json(const nlohmann::json& message) {
  send(message.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
}

void LineChannel::put(std::string_view lines) {
  unsent_ += lines;
  if (unsent_.size() > limits_.unsent_bytes) end();
}

void LineChannel::flush() {
  while (!unsent_.empty()) {
    const ssize_t size = ::send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size < 0 && would_wait()) return;
    if (size < 0) ended_ = true;
    unsent_.erase(0, size < 0 ? unsent_.size() : static_cast<std::size_t>(size));
  }
}

// The other program has exceeded a limit.
void LineChannel::end() {
  ended_ = true;
  unsent_.clear();
  received_.clear();
  taken_ = 0;
  line_end_ = std::string::npos;
}

}  // namespace millrace
