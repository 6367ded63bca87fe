#include "similar/stop_on_signal.h"

#include <ctime>

namespace millrace::similar {

StopOnSignal::StopOnSignal() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  // Blocked here, and so in every thread made later: only sigtimedwait receives them.
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  thread_ = std::jthread([this](const std::stop_token& end) {
    constexpr timespec tenth{.tv_sec = 0, .tv_nsec = 100'000'000};
    while (!end.stop_requested()) {
      if (sigtimedwait(&signals_, nullptr, &tenth) < 0) continue;
      stop_.request_stop();
      // From now on the signals act as usual.
      pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
    }
  });
}

StopOnSignal::~StopOnSignal() {
  thread_ = {};  // ends and joins
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace millrace::similar
