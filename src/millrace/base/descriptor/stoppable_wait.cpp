#include "millrace/base/descriptor/stoppable_wait.h"

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
  // Release: a thread that sees the stop also sees what led to it.
  stopped_.store(true, std::memory_order_release);
  wake();
}

void StoppableWait::limit(std::chrono::milliseconds patience) const {
  // Relaxed: publishes only itself. The event below makes it visible to the threads it wakes.
  patience_ms_.store(static_cast<int>(patience.count()), std::memory_order_relaxed);
  wake();
}

// Permanent: the event is never reset.
void StoppableWait::wake() const {
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
  int waited_ms = 0;
  while (true) {
    const int patience_ms = patience_ms_.load(std::memory_order_relaxed);
    const bool limited = patience_ms >= 0;
    // poll(2) ignores negative descriptors, including a missing event.
    std::array<pollfd, 2> polled{{{descriptor, events, 0}, {limited ? -1 : event_.get(), POLLIN, 0}}};
    const int left_ms = timeout_ms < 0 ? -1 : timeout_ms - waited_ms;
    const bool looks = (limited || !event_.is_open()) && (left_ms < 0 || left_ms > look_ms);
    const int ready = poll(polled.data(), polled.size(), looks ? look_ms : left_ms);
    if (stopped_.load(std::memory_order_acquire)) return Outcome::stopped;
    if (ready > 0 && polled[0].revents != 0) return Outcome::readable;
    if (ready > 0 || (ready < 0 && errno == EINTR)) continue;  // the event announced a limit
    if (ready < 0 && errno != EAGAIN && errno != ENOMEM) return Outcome::readable;  // the I/O call reports it
    if (ready == 0 && !looks) return Outcome::time_over;
    if (ready == 0) waited_ms += look_ms;
    if (limited && waited_ms >= patience_ms) return Outcome::stopped;
  }
}

}  // namespace millrace
