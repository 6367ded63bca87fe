// Acceptor: accepts connections on a listening socket.
//
//   Acceptor acceptor(std::move(listener));
//   pollfd waited = acceptor.waited_for(now_ns());
//   poll(&waited, 1, acceptor.patience_ms(-1, now_ns()));
//   while (Descriptor socket = acceptor.next(now_ns()); socket.is_open()) ...
#pragma once

#include "millrace/base/descriptor/descriptor.h"

#include <cstdint>
#include <optional>
#include <poll.h>
#include <utility>

namespace millrace {

// If the process has no descriptor or memory left for a connection, the acceptor rests for a while. Otherwise
// poll(2) would report the same pending connection in a busy loop. Used by one thread.
class Acceptor {
 public:
  static constexpr std::int64_t rest_ns = 100'000'000;

  // listener: a socket that listens without blocking.
  explicit Acceptor(Descriptor listener) : listener_(std::move(listener)) {}
  // Replaces it. With a closed one, no more connections are accepted, and later ones are refused at once.
  void listen_on(Descriptor listener) { listener_ = std::move(listener); }

  // The next connection, as a non-blocking socket. None if no client waits, or during a rest.
  [[nodiscard]] Descriptor next(std::int64_t now_ns);
  // Accepts nothing before that time.
  void rest_until(std::int64_t time_ns);

  // For poll(2): no descriptor during a rest.
  [[nodiscard]] pollfd waited_for(std::int64_t now_ns) const;
  // The end of the present rest, if there is one.
  [[nodiscard]] std::optional<std::int64_t> rests_until(std::int64_t now_ns) const;
  // How long poll(2) may wait, at most `most_ms` (-1: forever).
  [[nodiscard]] int patience_ms(int most_ms, std::int64_t now_ns) const;

 private:
  Descriptor listener_;
  std::int64_t accepts_again_ns_ = 0;
};

}  // namespace millrace
