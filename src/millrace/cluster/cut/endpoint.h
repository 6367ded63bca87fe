// Endpoint: where a program can be reached by TCP.
#pragma once

#include "millrace/base/descriptor.h"
#include "millrace/base/result.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace::cluster {

struct Endpoint {
  std::string host;  // a name or an address
  int port = 0;

  bool operator==(const Endpoint&) const = default;
};

// "127.0.0.1:7272", "host:7272", "[::1]:7272", with or without "tcp://" before it. Usage error that calls it
// `what`.
[[nodiscard]] Result<Endpoint> parse_endpoint(std::string_view text, std::string_view what);
[[nodiscard]] std::string to_string(const Endpoint& endpoint);

// Listens there and nowhere else; port 0: one that is free. Of a name with several addresses, at the first
// where that can be. Usage error where there is none.
[[nodiscard]] Result<Descriptor> listen_at_endpoint(const Endpoint& endpoint);
// Begins to connect: the socket can be written to when that worked, or failed (see connected()). Nothing
// waits, but for a name that has to be looked up. A name may have several addresses, of which one answers:
// those that refuse at once are passed over, and attempt n begins with the n-th. Failure where there is no
// way there.
[[nodiscard]] Result<Descriptor> begin_to_connect(const Endpoint& endpoint, std::size_t attempt = 0);
// Whether a connection that was begun is there, once the socket can be written to.
[[nodiscard]] Status connected(int socket);
// The next who wants in, not to wait; none where nobody does.
[[nodiscard]] Descriptor accept_next(int listener);

// Of a socket; empty host where that is not known.
[[nodiscard]] Endpoint own_end(int socket);
[[nodiscard]] Endpoint other_end(int socket);

}  // namespace millrace::cluster
