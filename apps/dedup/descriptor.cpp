#include "dedup/descriptor.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <poll.h>
#include <system_error>
#include <unistd.h>

#include <sys/eventfd.h>
#include <sys/stat.h>

namespace millrace::dedup {

int Descriptor::close() {
  const int fd = std::exchange(fd_, -1);
  if (!owned_ || fd < 0) return 0;
  // Never again on EINTR: Linux has closed it then.
  return ::close(fd) == 0 || errno == EINTR ? 0 : errno;
}

bool Descriptor::is_regular_file() const {
  struct stat info{};
  return fstat(fd_, &info) == 0 && S_ISREG(info.st_mode);
}

std::string reason(int error) { return std::generic_category().message(error); }

// Without an event (out of descriptors) waits cannot be stopped, all else works: poll(2) passes over negative
// descriptors.
StoppableWait::StoppableWait(const std::stop_token& stop)
    : event_(Descriptor::owned(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))), on_stop_(stop, [this] {
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t written = write(event_.get(), &one, sizeof one);
      }) {}

bool StoppableWait::until_readable(int fd) const { return until(fd, POLLIN); }
bool StoppableWait::until_writable(int fd) const { return until(fd, POLLOUT); }

bool StoppableWait::until(int fd, short events) const {
  std::array<pollfd, 2> fds{{{fd, events, 0}, {event_.get(), POLLIN, 0}}};
  while (poll(fds.data(), fds.size(), -1) < 0 && errno == EINTR) {
  }
  return fds[1].revents == 0;
}

}  // namespace millrace::dedup
