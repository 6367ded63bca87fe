#include "millrace/cluster/live_split/wake_up.h"

#include <cstdint>
#include <unistd.h>

#include <sys/eventfd.h>

namespace millrace::cluster {

WakeUp::WakeUp() : event_(Descriptor::owned(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))) {}

void WakeUp::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(event_.get(), &one, sizeof one);
}

void WakeUp::clear() const {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t read_bytes = read(event_.get(), &count, sizeof count);
}

}  // namespace millrace::cluster
