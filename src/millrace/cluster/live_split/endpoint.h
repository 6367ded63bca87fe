// Endpoint: the TCP address of a program.
#pragma once

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/error/result.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace::cluster {

struct Endpoint {
  std::string host;  // a name or an address
  int port = 0;

  bool operator==(const Endpoint&) const = default;
};

// Parses "127.0.0.1:7272", "host:7272" or "[::1]:7272", optionally after "tcp://". The usage error calls the
// text `what`.
[[nodiscard]] Result<Endpoint> parse_endpoint(std::string_view text, std::string_view what);
[[nodiscard]] std::string to_string(const Endpoint& endpoint);

// Listens only at that endpoint, without blocking. Port 0 picks a free port. If a name has several addresses,
// uses the first that works. Returns a usage error if none does.
[[nodiscard]] Result<Descriptor> listen_at_endpoint(const Endpoint& endpoint);
// Starts to connect. The socket becomes writable when the connection succeeds or fails (see connected()).
// Only the lookup of a name may block. If a name has several addresses, those that refuse at once are
// skipped, and attempt n begins with the n-th address. Fails if no address is reachable.
[[nodiscard]] Result<Descriptor> begin_to_connect(const Endpoint& endpoint, std::size_t attempt = 0);
// Whether a connection attempt has succeeded, once the socket is writable.
[[nodiscard]] Status connected(int socket);

// The addresses of a connected socket. The host is empty if it is unknown.
[[nodiscard]] Endpoint own_end(int socket);
[[nodiscard]] Endpoint other_end(int socket);

}  // namespace millrace::cluster
