#include "millrace/placement/apply/guardian.h"

#include "millrace/base/pipe.h"
#include "millrace/base/system_reason.h"
#include "millrace/machine/scheduling_attributes.h"
#include "millrace/placement/apply/journal.h"

#include <cerrno>
#include <csignal>
#include <tuple>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace millrace::placement {
namespace {

// Moves the one descriptor that is needed to 0 and closes all others, so that nobody waits for the guardian
// at the other end of a pipe that was this process's output.
void keep_only(int descriptor) {
  dup2(descriptor, 0);
  syscall(SYS_close_range, 1U, ~0U, 0U);
}

[[noreturn]] void guard(int alive, const std::filesystem::path& journal) {
  setsid();
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  prctl(PR_SET_NAME, "millrace-guard");
  keep_only(alive);
  char word = 0;
  ssize_t size = 0;
  while ((size = read(0, &word, 1)) < 0 && errno == EINTR) {
  }
  if (size == 0) restore_by_file(journal);
  _exit(0);
}

}  // namespace

Guardian::~Guardian() {
  const char word = 1;
  // Fails only when the guardian is gone.
  if (alive_.is_open()) std::ignore = write(alive_.get(), &word, 1);
}

Result<Guardian> Guardian::start(const std::filesystem::path& journal) {
  auto pipe = make_pipe();
  if (!pipe) return std::unexpected(pipe.error());
  // Known from now on: the guardian must not have to make a thread.
  std::ignore = machine::default_slice_ns();
  const pid_t between = fork();
  if (between < 0) return failure("cannot make a process: {}", system_reason(errno));
  if (between == 0) {
    // The child of a child belongs to nobody who would have to wait for it.
    pipe->write_end.close();
    if (fork() == 0) guard(pipe->read_end.get(), journal);
    _exit(0);
  }
  while (waitpid(between, nullptr, 0) < 0 && errno == EINTR) {
  }
  return Guardian(std::move(pipe->write_end));
}

}  // namespace millrace::placement
