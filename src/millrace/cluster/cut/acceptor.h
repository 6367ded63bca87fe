// Acceptor: lets others in at a listening socket.
//
//   Acceptor acceptor(*listen_at_endpoint({"127.0.0.1", 0}));
//   pollfd waited = acceptor.waited_for(now_ns());
//   while (Descriptor socket = acceptor.next(now_ns()); socket.is_open()) ...
#pragma once

#include "millrace/base/descriptor.h"

#include <cstdint>
#include <poll.h>

namespace millrace::cluster {

// Where this process has no descriptor or memory left for whoever comes, it rests for a while: the kernel
// would tell of the one who waits again and again, at once. Used by one thread.
class Acceptor {
 public:
  static constexpr std::int64_t rest_ns = 100'000'000;

  explicit Acceptor(Descriptor listener);

  // The next who wants in, as accept_next() has it; none while it rests.
  [[nodiscard]] Descriptor next(std::int64_t now_ns);
  // For poll(2): nothing while it rests.
  [[nodiscard]] pollfd waited_for(std::int64_t now_ns) const;
  // How long poll(2) may wait, of `most_ms` (-1: for ever).
  [[nodiscard]] int patience_ms(int most_ms, std::int64_t now_ns) const;
  // Nobody is let in any more, and those who come are refused at once.
  void close_for_good();

  // Any thread. Where it listens.
  [[nodiscard]] int port() const { return port_; }

 private:
  [[nodiscard]] bool rests(std::int64_t now_ns) const { return now_ns < accepts_again_ns_; }

  Descriptor listener_;
  int port_;
  std::int64_t accepts_again_ns_ = 0;
};

}  // namespace millrace::cluster
