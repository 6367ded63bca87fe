// ForwardedSignals: signals to this process that are for the program it runs.
#pragma once

#include "millrace/base/descriptor.h"

#include <csignal>
#include <optional>
#include <unistd.h>

#include <sys/signalfd.h>

namespace millrace::placement {

inline constexpr int forwarded_signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP};

// Blocks them and reads them from a descriptor while it lives; to be made before other threads, which inherit
// that they are blocked.
class ForwardedSignals {
 public:
  ForwardedSignals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : forwarded_signals)
      sigaddset(&signals, signal);
    pthread_sigmask(SIG_BLOCK, &signals, &before_);
    file_ = Descriptor::owned(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~ForwardedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  ForwardedSignals(const ForwardedSignals&) = delete;
  ForwardedSignals& operator=(const ForwardedSignals&) = delete;

  // Readable when there is one.
  [[nodiscard]] int descriptor() const { return file_.get(); }
  [[nodiscard]] std::optional<signalfd_siginfo> take() {
    signalfd_siginfo info{};
    if (read(file_.get(), &info, sizeof(info)) != sizeof(info)) return std::nullopt;
    return info;
  }

 private:
  sigset_t before_{};
  Descriptor file_;
};

}  // namespace millrace::placement
