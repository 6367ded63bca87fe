#include "millrace/cli/interrupt.h"

#include <ctime>

namespace millrace::cli {

Interrupt::Interrupt() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  // Blocked here, and so in every thread made later: only sigtimedwait receives them.
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  thread_ = std::thread([this] { watch(); });
}

Interrupt::~Interrupt() {
  stopping_.store(true, std::memory_order_release);
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void Interrupt::disarm() {
  // Sequentially consistent with watch(): either it sees armed_ false, or this sees calling_ true and waits.
  armed_.store(false);
  while (calling_.load())
    std::this_thread::yield();
}

void Interrupt::watch() {
  constexpr timespec tenth{.tv_sec = 0, .tv_nsec = 100'000'000};
  while (!stopping_.load(std::memory_order_acquire)) {
    if (sigtimedwait(&signals_, nullptr, &tenth) < 0) continue;
    requested_.store(true, std::memory_order_release);
    calling_.store(true);
    if (armed_.load()) action_();
    calling_.store(false);
    // From now on the signals act as usual, so that a second one ends the process even if the work hangs.
    pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
    return;
  }
}

}  // namespace millrace::cli
