#include "millrace/placement/birth/follower.h"

#include "millrace/base/clock.h"

#include <cerrno>
#include <csignal>
#include <tuple>
#include <unistd.h>

#include <sys/eventfd.h>
#include <sys/wait.h>

namespace millrace::placement {
namespace {

// The shell sees this process stop as it would have seen the program.
void stop_with_the_terminal() { kill(getpid(), SIGSTOP); }

std::optional<ProgramEnd> wait_for(pid_t process) {
  ProgramEnd end;
  while (true) {
    const pid_t found = wait4(process, &end.status, WUNTRACED, &end.usage);
    if (found < 0 && errno == EINTR) continue;
    if (found < 0) return std::nullopt;
    if (!WIFSTOPPED(end.status)) return end;
    const int signal = WSTOPSIG(end.status);
    if (signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU) stop_with_the_terminal();
  }
}

}  // namespace

Follower::Follower(ThreadRegister& threads)
    : threads_(&threads), tracer_(threads), ended_(Descriptor::owned(eventfd(0, EFD_CLOEXEC))),
      end_(end_promise_.get_future()) {
  tracer_.on_terminal_stop(stop_with_the_terminal);
}

Follower::~Follower() {
  if (thread_.joinable()) thread_.join();
}

void Follower::follow(pid_t process, bool traced) {
  end_promise_.set_value(traced ? tracer_.run() : wait_for(process));
  const std::uint64_t one = 1;
  std::ignore = write(ended_.get(), &one, sizeof(one));
}

Result<Launched> Follower::launch(WaitingProgram& program, bool trace) {
  std::promise<Result<Launched>> begun;
  auto launched = begun.get_future();
  thread_ = std::thread([&, trace] {
    const pid_t process = program.process();
    Launched result;
    const Status followed = trace ? tracer_.follow(process) : threads_->process_began(process, 0);
    result.traced = trace && followed;
    if (trace && !followed) {
      result.not_traced = followed.error().message;
      std::ignore = threads_->process_began(process, 0);
    }
    traced_ = result.traced;
    result.exec_error = program.begin();
    result.time_ns = now_ns();
    begun.set_value(result);
    follow(process, result.traced);
  });
  return launched.get();
}

Status Follower::attach(pid_t process) {
  std::promise<Status> begun;
  auto attached = begun.get_future();
  thread_ = std::thread([this, process, &begun] {
    const Status done = tracer_.attach(process);
    traced_ = done.has_value();
    begun.set_value(done);
    if (done) follow(process, true);
  });
  return attached.get();
}

void Follower::stop() {
  if (traced_) tracer_.stop();
}

}  // namespace millrace::placement
