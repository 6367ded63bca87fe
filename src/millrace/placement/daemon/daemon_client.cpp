#include "millrace/placement/daemon/daemon_client.h"

#include "millrace/base/error/system_reason.h"
#include "millrace/base/text/printable.h"
#include "millrace/placement/daemon/daemon_request.h"
#include "millrace/placement/daemon/process_identity.h"
#include "millrace/placement/daemon/run_daemon.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

namespace millrace::placement {
namespace {

// Replies to root may list hundreds of programs.
constexpr std::size_t longest_reply = 64 << 20;

// A signal, such as a change of the terminal's size, does not end the wait.
bool wait_for(int socket, short what, std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (true) {
    pollfd waited{socket, what, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    const int ready = poll(&waited, 1, static_cast<int>(std::max<std::int64_t>(0, left.count())));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

// Waits while the queue of the daemon is full, as during a flood of connections. Returns nothing if no daemon
// listens there.
Result<std::optional<Descriptor>> connect_to(const std::string& path, std::chrono::milliseconds patience) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return usage_error("the path of a socket has at most {} bytes: {}", sizeof address.sun_path - 1, path);
  std::ranges::copy(path, address.sun_path);
  auto socket = Descriptor::owned(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto end = std::chrono::steady_clock::now() + patience;
  int error = 0;
  do {
    constexpr std::int64_t us_in_second = 1'000'000;
    const auto left = std::chrono::ceil<std::chrono::microseconds>(end - std::chrono::steady_clock::now());
    const std::int64_t left_us = std::max<std::int64_t>(1, left.count());  // 0 would mean no limit
    const timeval limit{.tv_sec = left_us / us_in_second, .tv_usec = left_us % us_in_second};
    setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    const bool connected =
        ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    error = connected ? 0 : errno;
  } while (error == EINTR);
  if (error == ENOENT || error == ECONNREFUSED) return std::nullopt;
  if (error == EAGAIN) return failure("the daemon at {} is too busy to answer: try again later", path);
  if (error != 0) return failure("cannot connect to the daemon at {}: {}", path, system_reason(error));
  fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  const auto peer = peer_of(socket.get());
  if (!peer || (peer->user != 0 && peer->user != geteuid()))
    return failure("{} belongs to user {}: it is not asked", path, peer ? peer->user : 0);
  return socket;
}

}  // namespace

DaemonClient::DaemonClient(Descriptor socket, std::chrono::milliseconds patience)
    : channel_(std::move(socket), {.line_bytes = longest_reply}), patience_(patience) {}

Result<DaemonClient> DaemonClient::connect(const std::string& socket, std::chrono::milliseconds patience) {
  std::vector<Result<std::string>> paths;
  if (!socket.empty())
    paths.emplace_back(socket);
  else
    paths = {daemon_socket(true), daemon_socket(false)};
  Error first;
  std::string absent;
  for (const auto& path : paths) {
    auto connected =
        path ? connect_to(*path, patience) : Result<std::optional<Descriptor>>(std::unexpected(path.error()));
    if (connected && *connected) return DaemonClient(std::move(**connected), patience);
    if (connected)
      absent += (absent.empty() ? "" : " or ") + *path;
    else if (first.message.empty())
      first = connected.error();
  }
  if (!first.message.empty()) return std::unexpected(first);
  return failure("no daemon answers at {}; start one: millrace daemon --user", absent);
}

Status DaemonClient::send(const std::string& line, const Descriptor& process) {
  std::size_t sent = 0;
  while (sent < line.size()) {
    iovec buffer{const_cast<char*>(line.data()) + sent, line.size() - sent};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &buffer;
    message.msg_iovlen = 1;
    if (process.is_open() && sent == 0) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* const header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int));
      const int number = process.get();
      std::memcpy(CMSG_DATA(header), &number, sizeof number);
    }
    const ssize_t size = sendmsg(channel_.descriptor(), &message, MSG_NOSIGNAL);
    if (size >= 0) {
      sent += static_cast<std::size_t>(size);
    } else if (errno == EAGAIN) {
      if (!wait_for(channel_.descriptor(), POLLOUT, patience_)) return failure("the daemon takes nothing");
    } else if (errno != EINTR) {
      return failure("the daemon is gone: {}", system_reason(errno));
    }
  }
  return {};
}

Result<std::string> DaemonClient::receive() {
  while (true) {
    if (auto line = channel_.next_line()) return *std::move(line);
    if (channel_.has_ended())
      return failure("the daemon has ended the connection, or its reply exceeds {} MiB", longest_reply >> 20);
    if (!wait_for(channel_.descriptor(), POLLIN, patience_)) return failure("the daemon does not answer");
    channel_.receive();
  }
}

Result<nlohmann::json> DaemonClient::ask(std::string_view method, const nlohmann::json& parameters,
                                         const Descriptor& process) {
  // There may be a reply even if the request was not read completely.
  const Status sent = send(daemon_request_line(method, parameters), process);
  const auto line = receive();
  if (!line) return std::unexpected(sent ? line.error() : sent.error());
  const auto reply = nlohmann::json::parse(*line, nullptr, false);
  if (!reply.is_object()) return failure("the daemon's answer is not a JSON object");
  const auto parameter = reply.find("parameters");
  const auto own = parameter != reply.end() && parameter->is_object() ? *parameter : nlohmann::json::object();
  if (!reply.contains("error")) return own;
  const auto message = own.find("message");
  const auto* const text = message == own.end() ? nullptr : message->get_ptr<const std::string*>();
  return failure("{}", printable(text == nullptr ? "the daemon refuses" : *text));
}

}  // namespace millrace::placement
