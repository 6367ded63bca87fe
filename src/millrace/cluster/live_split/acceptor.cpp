#include "millrace/cluster/live_split/acceptor.h"

#include "millrace/cluster/live_split/endpoint.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace millrace::cluster {

Acceptor::Acceptor(Descriptor listener)
    : listener_(std::move(listener)), port_(own_end(listener_.get()).port) {}

Descriptor Acceptor::next(std::int64_t now_ns) {
  if (rests(now_ns)) return {};
  errno = 0;
  Descriptor socket = accept_next(listener_.get());
  if (!socket.is_open() && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
    accepts_again_ns_ = now_ns + rest_ns;
  return socket;
}

pollfd Acceptor::waited_for(std::int64_t now_ns) const {
  return {rests(now_ns) ? -1 : listener_.get(), POLLIN, 0};
}

int Acceptor::patience_ms(int most_ms, std::int64_t now_ns) const {
  if (!rests(now_ns)) return most_ms;
  constexpr std::int64_t ns_for_ms = 1'000'000;
  const auto rest_ms = static_cast<int>((accepts_again_ns_ - now_ns) / ns_for_ms + 1);
  return most_ms < 0 ? rest_ms : std::min(most_ms, rest_ms);
}

void Acceptor::close_for_good() { listener_ = Descriptor(); }

}  // namespace millrace::cluster
