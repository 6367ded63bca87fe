#include "millrace/base/process/child_process.h"

#include <cerrno>
#include <csignal>
#include <unistd.h>
#include <utility>

#include <sys/syscall.h>
#include <sys/wait.h>

namespace millrace {
namespace {

#ifndef P_PIDFD
constexpr auto of_descriptor = static_cast<idtype_t>(3);
#else
constexpr auto of_descriptor = P_PIDFD;
#endif

// Converts to the status format of waitpid().
int status_of(const siginfo_t& info) {
  constexpr int exit_shift = 8;
  constexpr int core_flag = 0x80;
  if (info.si_code == CLD_EXITED) return info.si_status << exit_shift;
  return info.si_status | (info.si_code == CLD_DUMPED ? core_flag : 0);
}

int wait_again(idtype_t kind, id_t which, siginfo_t& info, int options) {
  int result = 0;
  while ((result = waitid(kind, which, &info, options)) < 0 && errno == EINTR) {
  }
  return result;
}

bool is_own_child(pid_t number) {
  siginfo_t info{};
  return wait_again(P_PID, static_cast<id_t>(number), info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

}  // namespace

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : number_(std::exchange(other.number_, -1)), descriptor_(std::move(other.descriptor_)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  number_ = std::exchange(other.number_, -1);
  descriptor_ = std::move(other.descriptor_);
  return *this;
}

ChildProcess::~ChildProcess() = default;

ChildProcess ChildProcess::of(pid_t number) {
  return of(number, number <= 0 ? Descriptor()
                                : Descriptor::owned(static_cast<int>(syscall(SYS_pidfd_open, number, 0U))));
}

ChildProcess ChildProcess::of(pid_t number, Descriptor descriptor) {
  ChildProcess child;
  child.number_ = number;
  child.descriptor_ = std::move(descriptor);
  return child;
}

bool ChildProcess::kill(int signal) const {
  if (!exists()) return false;
  if (descriptor_.is_open() && syscall(SYS_pidfd_send_signal, descriptor_.get(), signal, nullptr, 0U) == 0)
    return true;
  // ESRCH is an answer. Any other error means that pidfds do not work here.
  if (descriptor_.is_open() && errno == ESRCH) return false;
  return is_own_child(number_) && ::kill(number_, signal) == 0;
}

bool ChildProcess::kill(int signal, void* value) const {
  if (!exists()) return false;
  siginfo_t info{};
  info.si_signo = signal;
  info.si_code = SI_QUEUE;
  info.si_pid = getpid();
  info.si_uid = getuid();
  info.si_value.sival_ptr = value;
  if (descriptor_.is_open() && syscall(SYS_pidfd_send_signal, descriptor_.get(), signal, &info, 0U) == 0)
    return true;
  if (descriptor_.is_open() && errno == ESRCH) return false;
  const sigval queued{.sival_ptr = value};
  return is_own_child(number_) && sigqueue(number_, signal, queued) == 0;
}

std::optional<int> ChildProcess::wait() {
  if (!exists()) return std::nullopt;
  siginfo_t info{};
  int result = -1;
  if (descriptor_.is_open())
    result = wait_again(of_descriptor, static_cast<id_t>(descriptor_.get()), info, WEXITED);
  if (!descriptor_.is_open() || (result < 0 && errno != ECHILD))
    result = wait_again(P_PID, static_cast<id_t>(number_), info, WEXITED);
  number_ = -1;
  descriptor_.close();
  if (result < 0) return std::nullopt;
  return status_of(info);
}

}  // namespace millrace
