#include "millrace/base/process/interrupt.h"

#include "millrace/base/descriptor/stoppable_wait.h"

#include <unistd.h>

#include <sys/signalfd.h>

namespace millrace {
namespace {

bool is_ignored(int signal) {
  struct sigaction action{};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

Interrupt::Interrupt() {
  sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    if (!is_ignored(signal)) sigaddset(&signals_, signal);
  arrivals_ = Descriptor::owned(signalfd(-1, &signals_, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!arrivals_.is_open()) sigemptyset(&signals_);
  // Blocked in this thread, so also in all threads created later: only the descriptor receives the signals.
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  watcher_ = std::jthread([this](const std::stop_token& end) { watch(end); });
}

Interrupt::~Interrupt() {
  watcher_.request_stop();
  watcher_.join();
  if (requested()) take_repeats();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

// Pending signals would end the process as soon as they are unblocked.
void Interrupt::take_repeats() const {
  signalfd_siginfo repeat{};
  while (read(arrivals_.get(), &repeat, sizeof repeat) == sizeof repeat) {
  }
}

void Interrupt::watch(const std::stop_token& end) {
  const StoppableWait wait(end);
  if (!wait.until_readable(arrivals_.get())) return;
  signalfd_siginfo first{};
  if (read(arrivals_.get(), &first, sizeof first) == sizeof first)
    signal_.store(static_cast<int>(first.ssi_signo), std::memory_order_relaxed);
  requested_.request_stop();
  if (!wait.for_time(one_request)) return;
  take_repeats();
  // From now on the signals have their usual effect, on this thread.
  pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
  static_cast<void>(wait.until_readable(-1));
}

}  // namespace millrace
