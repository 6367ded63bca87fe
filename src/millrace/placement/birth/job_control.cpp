#include "millrace/placement/birth/job_control.h"

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/placement/task/task_files.h"

#include <atomic>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

#include <sys/syscall.h>
#include <sys/wait.h>

namespace millrace::placement {
namespace {

// Relaxed: only the number matters, and the kernel runs the handler before the continued thread goes on.
std::atomic<unsigned> times_continued{0};

// True if this process's group is orphaned in its session. Terminal signals do not stop such a group.
bool is_in_orphaned_group() {
  pid_t member = getpid();
  while (true) {
    const auto stat = read_task_stat(member, member);
    if (!stat || stat->parent <= 0) return true;
    if (getpgid(stat->parent) != getpgrp()) return getsid(stat->parent) != getsid(0);
    member = stat->parent;
  }
}

// True if a child that was reported as stopped has continued and stopped again.
bool has_stopped_again(pid_t child) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == child;
}

Descriptor own_terminal() { return Descriptor::owned(open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC)); }

// -1 if there is no terminal.
pid_t foreground_group() {
  const Descriptor terminal = own_terminal();
  return terminal.is_open() ? tcgetpgrp(terminal.get()) : -1;
}

// True if the group was made by the program or one of its descendants.
bool is_group_of_program(pid_t group, pid_t program) {
  if (group <= 0 || group == getpgrp()) return false;
  if (group == getpgid(program)) return true;
  for (pid_t member = group; member > 1;) {
    if (member == program) return true;
    const auto stat = read_task_stat(member, member);
    member = stat ? stat->parent : 0;
  }
  return false;
}

// For an untraced program that was stopped: true if it has been stopped ever since.
bool is_still_stopped(pid_t program) {
  const auto stat = read_task_stat(program, program);
  return stat && stat->state == 'T' && !has_stopped_again(program);
}

void continue_with_this_process(pid_t program) {
  constexpr int attempts = 50;
  constexpr useconds_t pause_us = 1000;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    if (!is_still_stopped(program)) return;
    usleep(pause_us);
  }
  kill(program, SIGCONT);
}

}  // namespace

bool in_foreground(pid_t program) {
  const pid_t group = foreground_group();
  return group == getpgrp() || is_group_of_program(group, program);
}

OwnForegroundGroup::OwnForegroundGroup(pid_t program) {
  const pid_t own = getpgid(program);
  if (own > 0 && own != getpgrp() && is_group_of_program(foreground_group(), program)) group_ = own;
}

bool OwnForegroundGroup::resume() const {
  if (group_ == 0) return false;
  const Descriptor terminal = own_terminal();
  if (terminal.is_open() && tcgetpgrp(terminal.get()) == getpgrp()) tcsetpgrp(terminal.get(), group_);
  kill(-group_, SIGCONT);
  return true;
}

void watch_continuations() {
  struct sigaction counting{};
  counting.sa_handler = [](int) { times_continued.fetch_add(1, std::memory_order_relaxed); };
  counting.sa_flags = SA_RESTART;
  sigaction(SIGCONT, &counting, nullptr);
  sigset_t continuing;
  sigemptyset(&continuing);
  sigaddset(&continuing, SIGCONT);
  pthread_sigmask(SIG_UNBLOCK, &continuing, nullptr);
}

unsigned continuations() { return times_continued.load(std::memory_order_relaxed); }

void stop_this_process(int signal, const std::function<bool()>& is_stopped) {
  if (signal == SIGSTOP || is_in_orphaned_group()) {
    // To this thread: the kernel may deliver a signal to the process in another one, while this one goes on.
    if (is_stopped()) syscall(SYS_tgkill, getpid(), gettid(), SIGSTOP);
    return;
  }
  sigset_t one;
  sigset_t before;
  sigemptyset(&one);
  sigaddset(&one, signal);
  pthread_sigmask(SIG_BLOCK, &one, &before);
  struct sigaction usual{};
  struct sigaction kept{};
  usual.sa_handler = SIG_DFL;
  sigaction(signal, &usual, &kept);
  // From here on the signal is pending, and SIGCONT cancels it. So a SIGCONT that continues the program after
  // it was found stopped also continues this process.
  syscall(SYS_tgkill, getpid(), gettid(), signal);
  if (is_stopped()) {
    pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  } else {
    const timespec at_once{};
    sigtimedwait(&one, nullptr, &at_once);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  sigaction(signal, &kept, nullptr);
}

void stop_like_the_program(int signal, pid_t program) {
  const OwnForegroundGroup group(program);
  stop_this_process(signal, [program] { return is_still_stopped(program); });
  if (!group.resume()) continue_with_this_process(program);
}

}  // namespace millrace::placement
