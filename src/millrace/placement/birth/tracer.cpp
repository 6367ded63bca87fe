#include "millrace/placement/birth/tracer.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/error/system_reason.h"
#include "millrace/placement/birth/forwarded_signals.h"
#include "millrace/placement/birth/job_control.h"
#include "millrace/placement/task/children.h"
#include "millrace/placement/task/task_files.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <tuple>
#include <unistd.h>
#include <utility>

#include <sys/ptrace.h>
#include <sys/wait.h>

namespace millrace::placement {
namespace {

// Without PTRACE_O_EXITKILL: if the tracer dies, the program goes on.
constexpr unsigned long options =
    PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC;

// When tracing is to end, how long to wait for threads that cannot stop and may still make others.
constexpr std::int64_t last_births_ns = 1'000'000'000;
// A thread in uninterruptible sleep is there only for a moment, or waits for the process that it has made.
constexpr std::int64_t last_sleeps_ns = 50'000'000;

pid_t event_message(pid_t thread) {
  unsigned long message = 0;
  if (ptrace(PTRACE_GETEVENTMSG, thread, nullptr, &message) != 0) return 0;
  return static_cast<pid_t>(message);
}

}  // namespace

Tracer::Tracer(ThreadRegister& threads) : threads_(&threads) {
  struct sigaction nothing{};
  nothing.sa_handler = [](int) {};
  sigaction(waking_signal, &nothing, nullptr);
}

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
  return {};
}

Status Tracer::attach(pid_t process) {
  // Register it before tracing. A process that is traced without being known would stay stopped for ever.
  if (auto known = threads_->process_began(process); !known) return known;
  if (root_ == 0) root_ = process;
  // Threads that are not traced yet may make others, so lists are read until they contain nothing new.
  bool first = true;
  for (bool found = true; found;) {
    found = false;
    for (const pid_t thread : list_threads(process)) {
      if (owner_.contains(thread)) continue;
      if (const auto seized = seize(thread); !seized) {
        if (first) return seized;
        continue;  // it ended meanwhile, or its birth was reported already
      }
      first = false;
      owner_[thread] = process;
      threads_->thread_began(thread, process);
      found = true;
    }
  }
  if (first) return failure("process {} is gone", process);
  for (const pid_t child : list_children(process))
    if (!owner_.contains(child)) std::ignore = attach(child);
  return {};
}

void Tracer::run(const std::function<void(const ProgramEnd&)>& ended) {
  // The parent of this process may have blocked it.
  sigset_t waking;
  sigemptyset(&waking);
  sigaddset(&waking, waking_signal);
  pthread_sigmask(SIG_UNBLOCK, &waking, nullptr);
  runner_.store(pthread_self(), std::memory_order_relaxed);
  std::int64_t stopping_since_ns = 0;
  while (true) {
    ProgramEnd end;
    // Acquire pairs with stop()'s release: stops from now on are seen after everything that was restored
    // before.
    const bool stopping = stop_.load(std::memory_order_acquire);
    if (stopping && stopping_since_ns == 0) stopping_since_ns = now_ns();
    if (stopping || asked_to_hand_over_.load(std::memory_order_relaxed)) begin_hand_over(LetGo::asked);
    if (owner_.size() > most_threads) begin_hand_over(LetGo::crowd);
    if (handing_over_ && owner_.empty() && early_.empty() && announced_.empty())
      handed_over_.store(true, std::memory_order_release);
    const bool letting_go = handing_over_ && !handed_over();
    const bool patient = early_.empty() && continue_root_at_ns_ == 0 && !stopping && !letting_go;
    const int options = __WALL | (patient ? 0 : WNOHANG) | (handed_over() ? WUNTRACED : 0);
    const pid_t thread = wait4(-1, &end.status, options, &end.usage);
    const int error = errno;
    if (!patient) adopt_orphans(now_ns());
    if (thread == 0) {
      continue_in_time(now_ns());
      if (letting_go) forget_the_dead(now_ns());
      if (stopping && (handed_over() || !may_tell_more(now_ns() - stopping_since_ns))) break;
      constexpr useconds_t pause_us = 500;
      usleep(pause_us);
      continue;
    }
    if (thread < 0) {
      if (error == EINTR) continue;
      break;
    }
    if (WIFSTOPPED(end.status)) {
      handle_stop(thread, end.status);
      continue;
    }
    owner_.erase(thread);
    announced_.erase(thread);
    early_.erase(thread);
    threads_->thread_ended(thread);
    if (thread != root_) continue;
    continue_root_at_ns_ = 0;
    ended(end);
  }
  const std::scoped_lock lock(ending_);
  done_ = true;
  ended_.notify_all();
}

// Starts threads whose makers have reported nothing.
void Tracer::adopt_orphans(std::int64_t now) {
  // A child's first stop and its maker's stop are some microseconds apart, unless the maker has to wait for a
  // CPU. In that case, what it passes on is only guessed.
  constexpr std::int64_t patience_ns = 20'000'000;
  for (auto child = early_.begin(); child != early_.end();) {
    if (now - child->second < patience_ns) {
      ++child;
      continue;
    }
    const pid_t thread = child->first;
    child = early_.erase(child);
    begin_life(thread, {});
    resume(thread, 0);
  }
}

// Continues a root that was not continued together with this process. Call this when no events are pending.
void Tracer::continue_in_time(std::int64_t now) {
  if (continue_root_at_ns_ != 0 && now >= continue_root_at_ns_) {
    continue_root_at_ns_ = 0;
    kill(root_, SIGCONT);
  }
}

// A first thread that ended before the others never stops again; its end is reported with the last one's.
void Tracer::forget_the_dead(std::int64_t now) {
  constexpr std::int64_t between_looks_ns = 10'000'000;
  if (now - looked_for_dead_ns_ < between_looks_ns) return;
  looked_for_dead_ns_ = now;
  std::erase_if(owner_, [](const auto& thread) {
    const auto stat =
        thread.first == thread.second ? read_task_stat(thread.first, thread.first) : std::nullopt;
    return stat && (stat->state == 'Z' || stat->state == 'X');
  });
}

// True if a thread may still stop or make another, this long after tracing was to end.
bool Tracer::may_tell_more(std::int64_t waited_ns) const {
  if (waited_ns < last_sleeps_ns) return true;
  if (waited_ns >= last_births_ns) return false;
  return !early_.empty() || !announced_.empty() || std::ranges::any_of(owner_, [](const auto& thread) {
    const auto stat = read_task_stat(thread.second, thread.first);
    return stat && stat->state != 'D';
  });
}

// Every thread stops at its next chance or is stopped already. It is let go when that is reported (resume).
void Tracer::begin_hand_over(LetGo reason) {
  if (std::exchange(handing_over_, true)) return;
  if (!stop_.load(std::memory_order_acquire)) {
    if (prepare_) prepare_();
    let_go_.store(reason, std::memory_order_release);
  }
  for (const auto& [thread, process] : owner_)
    ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
}

void Tracer::hand_over() {
  asked_to_hand_over_.store(true, std::memory_order_relaxed);
  wake();
}

// A wait4() that begins just now is interrupted only by the next signal.
void Tracer::wake() {
  if (const pthread_t runner = runner_.load(std::memory_order_relaxed); runner != 0)
    pthread_kill(runner, waking_signal);
}

void Tracer::stop() {
  stop_.store(true, std::memory_order_release);
  std::unique_lock lock(ending_);
  while (!done_) {
    wake();
    constexpr std::chrono::microseconds pause(200);
    ended_.wait_for(lock, pause);
  }
}

void Tracer::handle_stop(pid_t thread, int status) {
  const int event = status >> 16;
  const int signal = WSTOPSIG(status);
  if (event != 0) {
    handle_event(thread, event, signal);
  } else if (!handed_over()) {
    handle_signal(thread, signal);
  } else if (thread == root_ && stopped_as_a_job(signal, root_)) {
    stop_like_the_program(signal, root_);
  }
}

void Tracer::handle_event(pid_t thread, int event, int signal) {
  switch (event) {
  case PTRACE_EVENT_CLONE:
  case PTRACE_EVENT_FORK:
  case PTRACE_EVENT_VFORK: {
    // Read it now: by the time of the child's own stop, its maker may be gone.
    const pid_t child = event_message(thread);
    const auto maker = owner_.find(thread);
    const Announced announced{maker == owner_.end() ? 0 : maker->second, threads_->inherited_from(thread)};
    if (event == PTRACE_EVENT_CLONE && announced.family != 0 && is_thread_of(child, announced.family))
      threads_->makes_a_thread(thread);
    resume(thread, 0);
    // The stops of maker and child come in either order.
    if (early_.erase(child) != 0) {
      begin_life(child, announced);
      resume(child, 0);
    } else if (child != 0 && !owner_.contains(child)) {
      announced_[child] = announced;
    }
    return;
  }
  case PTRACE_EVENT_EXEC: {
    const pid_t former = event_message(thread);
    if (former != thread) owner_.erase(former);
    owner_[thread] = thread;
    threads_->process_executed(thread, former == 0 ? thread : former);
    if (!handing_over_ && untraceable_ && untraceable_(thread)) begin_hand_over(LetGo::untraceable);
    resume(thread, 0);
    return;
  }
  case PTRACE_EVENT_STOP:
    if (const auto child = announced_.extract(thread)) {
      begin_life(thread, child.mapped());
    } else if (!owner_.contains(thread)) {
      early_.emplace(thread, now_ns());
      return;
    }
    if (thread == root_) continue_root_at_ns_ = 0;
    if (is_stop_signal(signal) && !handing_over_) {
      // Its process is stopped and stays so until SIGCONT arrives.
      ptrace(PTRACE_LISTEN, thread, nullptr, nullptr);
      if (thread == root_ && job_control_) stop_with_the_program(signal);
      return;
    }
    resume(thread, 0);
    return;
  default:
    resume(thread, 0);
  }
}

void Tracer::handle_signal(pid_t thread, int signal) {
  siginfo_t info{};
  if (is_stop_signal(signal) && owner_.contains(thread) && owner_[thread] == root_ &&
      ptrace(PTRACE_GETSIGINFO, thread, nullptr, &info) == 0) {
    const bool from_kernel = info.si_code > 0;
    continuations_before_stop_ = continuations();
    // Only the program and its terminal stop a shell's job. A sender elsewhere will continue the program
    // alone.
    job_control_ = from_kernel || info.si_pid == getpid() ||
                   (owner_.contains(info.si_pid) && (signal != SIGSTOP || in_foreground(root_)));
  }
  resume(thread, signal);
}

// A SIGCONT that continued this process since the program was told to stop also continued the program.
void Tracer::stop_with_the_program(int signal) {
  const OwnForegroundGroup group(root_);
  stop_this_process(signal, [this] { return continuations() == continuations_before_stop_; });
  if (group.resume()) return;
  // A SIGCONT to the process group has continued the root as well; one to this process alone is passed on.
  constexpr std::int64_t group_signal_ns = 50'000'000;
  continue_root_at_ns_ = now_ns() + group_signal_ns;
}

// The first stop of a new thread or process, which has run nothing yet.
void Tracer::begin_life(pid_t thread, const Announced& child) {
  const pid_t family = child.family == 0 ? process_of(thread) : child.family;
  if (family != thread && family != 0 && (child.family == 0 || is_thread_of(thread, family))) {
    owner_[thread] = family;
    threads_->thread_began(thread, family, child.inherited);
  } else {
    owner_[thread] = thread;
    // A process that cannot be followed runs as the kernel schedules it.
    std::ignore = threads_->process_began(thread, child.inherited);
  }
}

void Tracer::resume(pid_t thread, int signal) {
  // Fails only if the thread was killed meanwhile, which wait4() reports.
  ptrace(handing_over_ ? PTRACE_DETACH : PTRACE_CONT, thread, nullptr, signal);
  if (handing_over_) owner_.erase(thread);
}

}  // namespace millrace::placement
