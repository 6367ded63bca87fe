#include "millrace/placement/apply/guardian.h"

#include "millrace/base/pipe.h"
#include "millrace/base/system_reason.h"
#include "millrace/machine/thread/scheduling_attributes.h"
#include "millrace/placement/apply/journal.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <string>
#include <tuple>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace millrace::placement {
namespace {

// Moves the descriptors that are needed to 0 and 1 and closes all others, so that nobody waits for the
// guardian at the other end of a pipe that was this process's output.
void keep_only(int alive, int folder) {
  constexpr int out_of_the_way = 10;
  const int moved = fcntl(folder, F_DUPFD, out_of_the_way);
  dup2(alive, 0);
  dup2(moved, 1);
  syscall(SYS_close_range, 2U, ~0U, 0U);
}

[[noreturn]] void guard(int alive, const StateFolder& folder, const std::string& journal) {
  setsid();
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  prctl(PR_SET_NAME, "millrace-guard");
  keep_only(alive, folder.descriptor());
  char word = 0;
  while (read(0, &word, 1) < 0 && errno == EINTR) {
  }
  restore_by_file(1, journal);
  // Runs that ended meanwhile have left it for the journal that was there. Refused where others use it.
  rmdir(folder.path().c_str());
  _exit(0);
}

}  // namespace

Guardian::~Guardian() {
  if (process_ <= 0) return;
  // It has done nothing yet. A word would not reach one that somebody has stopped.
  kill(process_, SIGKILL);
  // Left to init, it would stay where init asks for nobody. Who traced the program may have asked already.
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<Guardian> Guardian::start(const Journal& journal) {
  Guardian guardian;
  if (journal.refuses()) return guardian;
  auto pipe = make_pipe();
  if (!pipe) return std::unexpected(pipe.error());
  // Known from now on: the guardian must not have to make a thread.
  std::ignore = machine::default_slice_ns();
  guardian.process_ = fork();
  if (guardian.process_ < 0) return failure("cannot make a process: {}", system_reason(errno));
  if (guardian.process_ == 0) {
    pipe->write_end.close();
    guard(pipe->read_end.get(), journal.folder(), journal.name());
  }
  guardian.alive_ = std::move(pipe->write_end);
  return guardian;
}

}  // namespace millrace::placement
