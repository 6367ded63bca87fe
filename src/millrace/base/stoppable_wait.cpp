#include "millrace/base/stoppable_wait.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <poll.h>
#include <unistd.h>

#include <sys/eventfd.h>

namespace millrace {

// Without an event (out of descriptors) waits cannot be stopped, all else works: poll(2) passes over negative
// descriptors.
StoppableWait::StoppableWait(const std::stop_token& stop)
    : event_(Descriptor::owned(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))),
      on_stop_(stop, [this] { this->stop(); }) {}

void StoppableWait::stop() const {
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
  std::array<pollfd, 2> waited{{{descriptor, events, 0}, {event_.get(), POLLIN, 0}}};
  int ready = 0;
  while ((ready = poll(waited.data(), waited.size(), timeout_ms)) < 0 && errno == EINTR) {
  }
  if (waited[1].revents != 0) return Outcome::stopped;
  return ready == 0 ? Outcome::time_over : Outcome::readable;
}

}  // namespace millrace
