#include "millrace/placement/birth/follower.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/error/system_reason.h"
#include "millrace/placement/birth/job_control.h"

#include <cerrno>
#include <csignal>
#include <new>
#include <tuple>
#include <unistd.h>
#include <utility>

#include <sys/eventfd.h>
#include <sys/wait.h>

namespace millrace::placement {
namespace {

std::optional<ProgramEnd> wait_for(pid_t process) {
  ProgramEnd end;
  while (true) {
    const pid_t found = wait4(-1, &end.status, WUNTRACED, &end.usage);
    if (found < 0 && errno == EINTR) continue;
    if (found < 0) return std::nullopt;
    // Orphaned descendants, which were reparented to this process.
    if (found != process) continue;
    if (!WIFSTOPPED(end.status)) return end;
    if (stopped_as_a_job(WSTOPSIG(end.status), process)) stop_like_the_program(WSTOPSIG(end.status), process);
  }
}

}  // namespace

Follower::Follower(ThreadRegister& threads)
    : threads_(&threads), tracer_(threads), ended_(Descriptor::owned(eventfd(0, EFD_CLOEXEC))),
      end_(end_promise_.get_future()) {
  sigset_t continuing;
  sigemptyset(&continuing);
  sigaddset(&continuing, SIGCONT);
  pthread_sigmask(SIG_BLOCK, &continuing, &signals_before_);
}

Follower::~Follower() {
  stop();
  if (thread_.joinable()) thread_.join();
  pthread_sigmask(SIG_SETMASK, &signals_before_, nullptr);
}

void Follower::tell_end(std::optional<ProgramEnd> end) {
  end_promise_.set_value(end);
  const std::uint64_t one = 1;
  std::ignore = write(ended_.get(), &one, sizeof(one));
}

void Follower::follow(pid_t process, bool traced) {
  if (!traced) return tell_end(wait_for(process));
  bool told = false;
  tracer_.run([&](const ProgramEnd& end) {
    told = true;
    tell_end(end);
  });
  // A process that is neither traced nor a child of this one has nothing that reports its end.
  if (!told && !tracer_.handed_over()) tell_end(std::nullopt);
}

Status Follower::start(std::function<void()> work) {
  if (!ended_.is_open()) return failure("cannot make an event descriptor: not permitted here");
  try {
    thread_ = std::thread([work = std::move(work)] {
      watch_continuations();
      work();
    });
    return {};
  } catch (const std::system_error& error) {
    return failure("cannot make a thread: {} (RLIMIT_NPROC?)", system_reason(error.code().value()));
  }
}

Result<Launched> Follower::launch(WaitingProgram& program, bool trace) {
  std::promise<Result<Launched>> ready;
  auto launched = ready.get_future();
  auto started = start([this, process = program.process(), trace, &ready] {
    Launched result;
    try {
      // It waits, so it exists. Register it before tracing, so that an abandoned attempt does not leave it
      // stopped.
      std::ignore = threads_->process_began(process);
      const Status followed = trace ? tracer_.follow(process) : Status();
      result.traced = trace && followed;
      if (!followed) result.not_traced = followed.error().message;
      threads_->program_begins();
    } catch (const std::bad_alloc&) {
      ready.set_value(failure("no memory is left to follow the program (RLIMIT_AS?)"));
      return;
    }
    traced_ = result.traced;
    ready.set_value(result);
    follow(process, traced_);
  });
  if (!started) return std::unexpected(started.error());
  auto result = launched.get();
  if (!result) return result;
  // Not in the thread that follows: a signal that arrives before the program is executed stops the process
  // until that thread passes it on.
  result->exec_error = program.begin();
  result->time_ns = now_ns();
  return result;
}

Status Follower::attach(pid_t process) {
  std::promise<Status> begun;
  auto attached = begun.get_future();
  auto started = start([this, process, &begun] {
    const Status done = tracer_.attach(process);
    traced_ = done.has_value();
    begun.set_value(done);
    if (done) follow(process, true);
  });
  return started ? attached.get() : started;
}

void Follower::stop() {
  if (std::exchange(traced_, false)) tracer_.stop();
}

}  // namespace millrace::placement
