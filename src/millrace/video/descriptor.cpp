#include "millrace/video/descriptor.h"

#include <cerrno>
#include <cstdint>
#include <poll.h>
#include <span>
#include <unistd.h>

#include <sys/eventfd.h>

namespace millrace::video {
namespace {

// poll(2) that outlives signals.
void poll_again(std::span<pollfd> fds, int timeout_ms) {
  while (poll(fds.data(), fds.size(), timeout_ms) < 0 && errno == EINTR) {
  }
}

}  // namespace

Descriptor::~Descriptor() { [[maybe_unused]] const int error = close(); }

int Descriptor::close() {
  const int fd = std::exchange(fd_, -1);
  if (!owned_ || fd < 0) return 0;
  // Never again on EINTR: Linux has closed it then.
  return ::close(fd) == 0 || errno == EINTR ? 0 : errno;
}

// Without an event (out of descriptors) waits cannot be cancelled, everything else works: poll(2) ignores
// negative descriptors.
CancelSignal::CancelSignal() : event_(Descriptor::owned(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))) {}

void CancelSignal::cancel() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(event_.get(), &one, sizeof one);
}

bool CancelSignal::wait(int fd, Direction direction) const {
  const short wanted = direction == Direction::in ? POLLIN : POLLOUT;
  pollfd fds[2] = {{fd, wanted, 0}, {event_.get(), POLLIN, 0}};
  poll_again(fds, -1);
  return fds[1].revents == 0;
}

bool CancelSignal::cancelled() const {
  pollfd event[1] = {{event_.get(), POLLIN, 0}};
  poll_again(event, 0);
  return event[0].revents != 0;
}

}  // namespace millrace::video
