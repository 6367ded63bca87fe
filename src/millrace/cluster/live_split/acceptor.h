// Acceptor: accepts connections on a listening socket.
//
//   Acceptor acceptor(*listen_at_endpoint({"127.0.0.1", 0}));
//   pollfd waited = acceptor.waited_for(now_ns());
//   while (Descriptor socket = acceptor.next(now_ns()); socket.is_open()) ...
#pragma once

#include "millrace/base/descriptor/descriptor.h"

#include <cstdint>
#include <poll.h>

namespace millrace::cluster {

// If the process has no descriptor or memory left for a connection, the acceptor rests for a while. Otherwise
// poll(2) would report the same pending connection in a busy loop. Used by one thread.
class Acceptor {
 public:
  static constexpr std::int64_t rest_ns = 100'000'000;

  explicit Acceptor(Descriptor listener);

  // The next connection, as from accept_next(). None during a rest.
  [[nodiscard]] Descriptor next(std::int64_t now_ns);
  // For poll(2): no events during a rest.
  [[nodiscard]] pollfd waited_for(std::int64_t now_ns) const;
  // How long poll(2) may wait, at most `most_ms` (-1: forever).
  [[nodiscard]] int patience_ms(int most_ms, std::int64_t now_ns) const;
  // Accepts no more connections. Later ones are refused at once.
  void close_for_good();

  // The listening port. Any thread may call this.
  [[nodiscard]] int port() const { return port_; }

 private:
  [[nodiscard]] bool rests(std::int64_t now_ns) const { return now_ns < accepts_again_ns_; }

  Descriptor listener_;
  int port_;
  std::int64_t accepts_again_ns_ = 0;
};

}  // namespace millrace::cluster
