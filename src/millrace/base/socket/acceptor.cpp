#include "millrace/base/socket/acceptor.h"

#include <algorithm>
#include <cerrno>

#include <sys/socket.h>

namespace millrace {

Descriptor Acceptor::next(std::int64_t now_ns) {
  if (rests_until(now_ns)) return {};
  auto socket = Descriptor::owned(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.is_open() && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
    rest_until(now_ns + rest_ns);
  return socket;
}

void Acceptor::rest_until(std::int64_t time_ns) { accepts_again_ns_ = std::max(accepts_again_ns_, time_ns); }

pollfd Acceptor::waited_for(std::int64_t now_ns) const {
  return {rests_until(now_ns) ? -1 : listener_.get(), POLLIN, 0};
}

std::optional<std::int64_t> Acceptor::rests_until(std::int64_t now_ns) const {
  return now_ns < accepts_again_ns_ ? std::optional(accepts_again_ns_) : std::nullopt;
}

int Acceptor::patience_ms(int most_ms, std::int64_t now_ns) const {
  const auto until_ns = rests_until(now_ns);
  if (!until_ns) return most_ms;
  constexpr std::int64_t ns_for_ms = 1'000'000;
  const auto rest_ms = static_cast<int>((*until_ns - now_ns) / ns_for_ms + 1);
  return most_ms < 0 ? rest_ms : std::min(most_ms, rest_ms);
}

}  // namespace millrace
