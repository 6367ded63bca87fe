// ForwardedSignals: signals to this process that are for the program it runs.
#pragma once

#include "millrace/base/descriptor.h"

#include <csignal>
#include <optional>
#include <unistd.h>

#include <sys/signalfd.h>

namespace millrace::placement {

// Interrupts a system call of the thread that traces, and does nothing else. No kernel and no program sends
// it; unlike a real-time signal it arrives also where none may be queued (RLIMIT_SIGPENDING, which all
// processes of a user share).
inline constexpr int waking_signal = SIGSTKFLT;

// All that anybody may send, but those by which this process itself would tell of a fault, waits for
// children, or is stopped and continued by. Safe between fork and exec.
[[nodiscard]] inline sigset_t forwarded_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP, SIGABRT, SIGALRM,
                           SIGVTALRM, SIGPROF, SIGXCPU, SIGWINCH, SIGURG, SIGIO, SIGPWR})
    sigaddset(&signals, signal);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal)
    sigaddset(&signals, signal);
  return signals;
}

// Blocks them and reads them from a descriptor while it lives; to be made before other threads, which inherit
// that they are blocked.
class ForwardedSignals {
 public:
  ForwardedSignals() {
    const sigset_t signals = forwarded_signals();
    pthread_sigmask(SIG_BLOCK, &signals, &before_);
    file_ = Descriptor::owned(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~ForwardedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  ForwardedSignals(const ForwardedSignals&) = delete;
  ForwardedSignals& operator=(const ForwardedSignals&) = delete;

  // Readable when there is one; -1 where the kernel gives none.
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
