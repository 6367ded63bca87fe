#include "millrace/placement/birth/tracer.h"

#include "millrace/base/clock.h"
#include "millrace/base/system_reason.h"
#include "millrace/placement/task/task_files.h"

#include <cerrno>
#include <csignal>
#include <unistd.h>

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace millrace::placement {
namespace {

// Not PTRACE_O_EXITKILL: when the tracer dies, the program goes on.
constexpr unsigned long options =
    PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC;

bool is_stop_signal(int signal) {
  return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

bool is_thread_of(pid_t thread, pid_t process) { return syscall(SYS_tgkill, process, thread, 0) == 0; }

pid_t event_message(pid_t thread) {
  unsigned long message = 0;
  if (ptrace(PTRACE_GETEVENTMSG, thread, nullptr, &message) != 0) return 0;
  return static_cast<pid_t>(message);
}

}  // namespace

Status Tracer::seize(pid_t thread) {
  if (ptrace(PTRACE_SEIZE, thread, nullptr, options) == 0) return {};
  const int reason = errno;
  if (reason == ESRCH) return failure("thread {} is gone", thread);
  const pid_t other = tracer_of(thread);
  if (other != 0) return failure("process {} traces it already", other);
  return failure("ptrace is not permitted: {} (another user's process, kernel.yama.ptrace_scope, or a "
                 "container without it)",
                 system_reason(reason));
}

Status Tracer::follow(pid_t process) {
  if (auto seized = seize(process); !seized) return seized;
  root_ = process;
  owner_[process] = process;
  return threads_->process_began(process, 0);
}

Status Tracer::attach(pid_t process) {
  // Threads may be born by threads that are not traced yet, so lists are read until they hold nothing new.
  if (root_ == 0) root_ = process;
  bool first = true;
  for (bool found = true; found;) {
    found = false;
    for (const pid_t thread : list_threads(process)) {
      if (owner_.contains(thread)) continue;
      if (const auto seized = seize(thread); !seized) {
        if (first) return seized;
        continue;  // ended meanwhile, or is a birth that was reported already
      }
      if (first) {
        if (auto known = threads_->process_began(process, 0); !known) return known;
        first = false;
      }
      owner_[thread] = process;
      threads_->thread_began(thread, process, 0);
      found = true;
    }
  }
  if (first) return failure("process {} is gone", process);
  for (const pid_t child : list_children(process))
    if (!owner_.contains(child)) std::ignore = attach(child);
  return {};
}

std::optional<ProgramEnd> Tracer::run() {
  while (true) {
    ProgramEnd end;
    const pid_t thread = wait4(-1, &end.status, __WALL, &end.usage);
    if (stop_.load(std::memory_order_relaxed)) return std::nullopt;
    if (thread < 0) {
      if (errno == EINTR) continue;
      return std::nullopt;
    }
    if (WIFSTOPPED(end.status)) {
      handle_stop(thread, end.status);
      continue;
    }
    if (thread == root_) return end;
    owner_.erase(thread);
    maker_.erase(thread);
    early_.erase(thread);
    threads_->thread_ended(thread);
  }
}

void Tracer::stop() {
  stop_.store(true, std::memory_order_relaxed);
  // A child that ends at once: what wait4 waits for.
  const pid_t child = fork();
  if (child == 0) _exit(0);
}

SeenSignal Tracer::last_signal() const {
  const std::scoped_lock lock(signal_mutex_);
  return last_signal_;
}

void Tracer::handle_stop(pid_t thread, int status) {
  const int event = status >> 16;
  const int signal = WSTOPSIG(status);
  if (event != 0)
    handle_event(thread, event, signal);
  else
    handle_signal(thread, signal);
}

void Tracer::handle_event(pid_t thread, int event, int signal) {
  switch (event) {
  case PTRACE_EVENT_CLONE:
  case PTRACE_EVENT_FORK:
  case PTRACE_EVENT_VFORK: {
    const pid_t child = event_message(thread);
    if (child != 0) maker_[child] = thread;
    resume(thread, 0);
    // Maker's and child's stop come in either order.
    if (early_.erase(child) != 0) {
      begin_life(child);
      resume(child, 0);
    }
    return;
  }
  case PTRACE_EVENT_EXEC: {
    const pid_t former = event_message(thread);
    if (former != thread) owner_.erase(former);
    owner_[thread] = thread;
    threads_->process_executed(thread, former == 0 ? thread : former);
    resume(thread, 0);
    return;
  }
  case PTRACE_EVENT_STOP:
    if (maker_.contains(thread)) {
      begin_life(thread);
    } else if (!owner_.contains(thread)) {
      early_.insert(thread);
      return;
    }
    if (is_stop_signal(signal)) {
      // Its process is stopped; it stays so until somebody sends SIGCONT.
      ptrace(PTRACE_LISTEN, thread, nullptr, nullptr);
      if (thread == root_ && terminal_signal_ && terminal_stop_) terminal_stop_();
      return;
    }
    resume(thread, 0);
    return;
  default:
    resume(thread, 0);
  }
}

void Tracer::handle_signal(pid_t thread, int signal) {
  if (owner_.contains(thread) && owner_[thread] == root_) {
    siginfo_t info{};
    if (ptrace(PTRACE_GETSIGINFO, thread, nullptr, &info) == 0) {
      const bool from_kernel = info.si_code > 0;
      if (is_stop_signal(signal)) terminal_signal_ = from_kernel;
      const std::scoped_lock lock(signal_mutex_);
      last_signal_ = {signal, from_kernel ? 0 : info.si_pid, now_ns()};
    }
  }
  resume(thread, signal);
}

// The first stop of a new thread or process whose maker is known: it has run nothing yet.
void Tracer::begin_life(pid_t thread) {
  const pid_t maker = maker_[thread];
  maker_.erase(thread);
  const auto family = owner_.find(maker);
  if (family != owner_.end() && is_thread_of(thread, family->second)) {
    owner_[thread] = family->second;
    threads_->thread_began(thread, family->second, maker);
  } else {
    owner_[thread] = thread;
    // Where it cannot be followed it runs as the kernel has it.
    std::ignore = threads_->process_began(thread, maker);
  }
}

void Tracer::resume(pid_t thread, int signal) {
  // Fails only when the thread was killed meanwhile; wait4 tells of that.
  ptrace(PTRACE_CONT, thread, nullptr, signal);
}

}  // namespace millrace::placement
