#include "millrace/base/stoppable_wait.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <poll.h>
#include <unistd.h>

#include <sys/eventfd.h>

namespace millrace {

StoppableWait::StoppableWait(const std::stop_token& stop)
    : event_(Descriptor::owned(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))),
      on_stop_(stop, [this] { this->stop(); }) {}

void StoppableWait::stop() const {
  // Release: who sees that it was stopped sees why.
  stopped_.store(true, std::memory_order_release);
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(event_.get(), &one, sizeof one);
}

bool StoppableWait::until_readable(int descriptor) const { return until(descriptor, POLLIN, -1); }
bool StoppableWait::until_writable(int descriptor) const { return until(descriptor, POLLOUT, -1); }
bool StoppableWait::for_time(std::chrono::milliseconds time) const {
  return until(-1, 0, static_cast<int>(time.count()));
}

StoppableWait::Outcome StoppableWait::until_readable(int descriptor, std::chrono::milliseconds time) const {
  return wait(descriptor, POLLIN, static_cast<int>(time.count()));
}

StoppableWait::Outcome StoppableWait::wait(int descriptor, short events, int timeout_ms) const {
  // poll(2) passes over negative descriptors, also that of an event which is not there.
  std::array<pollfd, 2> waited{{{descriptor, events, 0}, {event_.get(), POLLIN, 0}}};
  while (true) {
    const bool looks = !event_.is_open() && (timeout_ms < 0 || timeout_ms > look_ms);
    const int ready = poll(waited.data(), waited.size(), looks ? look_ms : timeout_ms);
    if (stopped_.load(std::memory_order_acquire)) return Outcome::stopped;
    if (ready > 0) return Outcome::readable;
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0 && errno != EAGAIN && errno != ENOMEM) return Outcome::readable;  // what follows tells why
    if (ready == 0 && !looks) return Outcome::time_over;
    if (ready == 0 && timeout_ms > 0) timeout_ms -= look_ms;
  }
}

}  // namespace millrace
