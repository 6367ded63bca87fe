#include "millrace/cluster/live_split/endpoint.h"

#include "millrace/base/error/system_reason.h"
#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/parse_number.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <optional>
#include <utility>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace millrace::cluster {
namespace {

constexpr int backlog = 64;
// Timeout for a machine that disappears silently.
constexpr int silence_seconds = 10;

using Addresses = std::unique_ptr<addrinfo, decltype([](addrinfo* list) { freeaddrinfo(list); })>;

Result<Addresses> look_up(const Endpoint& endpoint, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error =
          getaddrinfo(endpoint.host.c_str(), fmt::format("{}", endpoint.port).c_str(), &hints, &found);
      error != 0)
    return failure("{}: cannot be found ({})", to_string(endpoint),
                   error == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(error));
  return Addresses(found);
}

// Has at least one element.
std::vector<const addrinfo*> as_list(const Addresses& addresses) {
  std::vector<const addrinfo*> list;
  for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next)
    list.push_back(address);
  return list;
}

Descriptor make_socket(const addrinfo& address) {
  return Descriptor::owned(
      ::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, address.ai_protocol));
}

void set_option(int socket, int level, int name, int value) {
  static_cast<void>(setsockopt(socket, level, name, &value, sizeof value));
}

// Sends small messages at once and detects peers that no longer answer.
void prepare_socket(int socket) {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, silence_seconds / 2);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, silence_seconds / 2);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, silence_seconds * 1000);
}

Endpoint numeric_end(const sockaddr_storage& address, socklen_t length) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, host.data(), host.size(), port.data(),
                  port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return {};
  return {host.data(), parse_number<int>(std::string_view(port.data())).value_or(0)};
}

}  // namespace

Result<Endpoint> parse_endpoint(std::string_view text, std::string_view what) {
  std::string_view rest = text;
  if (rest.starts_with("tcp://")) rest.remove_prefix(6);
  const std::size_t colon = rest.rfind(':');
  std::optional<int> port;
  if (colon != std::string_view::npos) port = parse_number<int>(rest.substr(colon + 1));
  std::string_view host = rest.substr(0, std::min(colon, rest.size()));
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!port || *port < 0 || *port > 65535 || host.empty() || (!bracketed && host.contains(':')))
    return usage_error("{} {} is not HOST:PORT; write it like 127.0.0.1:7272", what, in_quotes(text));
  return Endpoint{std::string(host), *port};
}

std::string to_string(const Endpoint& endpoint) {
  return endpoint.host.contains(':') ? fmt::format("[{}]:{}", endpoint.host, endpoint.port)
                                     : fmt::format("{}:{}", endpoint.host, endpoint.port);
}

Result<Descriptor> listen_at_endpoint(const Endpoint& endpoint) {
  const auto addresses = look_up(endpoint, AI_PASSIVE);
  if (!addresses) return usage_error("{}", addresses.error().message);
  int error = 0;
  for (const addrinfo* address : as_list(*addresses)) {
    Descriptor socket = make_socket(*address);
    if (socket.is_open()) {
      prepare_socket(socket.get());  // accepted sockets inherit the options
      set_option(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
      if (bind(socket.get(), address->ai_addr, address->ai_addrlen) == 0 &&
          listen(socket.get(), backlog) == 0)
        return socket;
    }
    if (error == 0) error = errno;
  }
  return usage_error("{}: cannot be listened at ({}); choose another address or port", to_string(endpoint),
                     system_reason(error));
}

Result<Descriptor> begin_to_connect(const Endpoint& endpoint, std::size_t attempt) {
  const auto addresses = look_up(endpoint, 0);
  if (!addresses) return std::unexpected(addresses.error());
  std::vector<const addrinfo*> order = as_list(*addresses);
  std::ranges::rotate(order, order.begin() + static_cast<std::ptrdiff_t>(attempt % order.size()));
  int error = 0;
  for (const addrinfo* address : order) {
    Descriptor socket = make_socket(*address);
    if (socket.is_open()) {
      prepare_socket(socket.get());
      if (connect(socket.get(), address->ai_addr, address->ai_addrlen) == 0 || errno == EINPROGRESS)
        return socket;
    }
    if (error == 0) error = errno;
  }
  return failure("{}: cannot be reached ({})", to_string(endpoint), system_reason(error));
}

Status connected(int socket) {
  int error = 0;
  socklen_t length = sizeof error;
  if (getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
  if (error != 0) return failure("{}", system_reason(error));
  return {};
}

Endpoint own_end(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return {};
  return numeric_end(address, length);
}

Endpoint other_end(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return {};
  return numeric_end(address, length);
}

}  // namespace millrace::cluster
