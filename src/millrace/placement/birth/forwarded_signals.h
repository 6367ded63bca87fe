// ForwardedSignals: signals to this process that are meant for the program it runs.
#pragma once

#include "millrace/base/descriptor/descriptor.h"

#include <csignal>
#include <optional>
#include <unistd.h>

#include <sys/signalfd.h>

namespace millrace::placement {

// Interrupts a system call of the tracing thread and has no other effect. Neither the kernel nor other
// programs send it. Unlike a real-time signal it arrives even if no more can be queued (RLIMIT_SIGPENDING,
// which all processes of a user share).
inline constexpr int waking_signal = SIGSTKFLT;

// All signals that others may send, except this process's fault signals, SIGCHLD, and the signals that stop
// and continue it. Safe between fork and exec.
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

// Blocks the signals and reads them from a descriptor during its lifetime. Make it before other threads,
// because they inherit the blocked set.
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

  // Readable if a signal is pending; -1 if there is no descriptor.
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
