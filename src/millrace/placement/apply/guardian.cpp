#include "millrace/placement/apply/guardian.h"

#include "millrace/base/pipe.h"
#include "millrace/base/system_reason.h"
#include "millrace/machine/thread/scheduling_attributes.h"
#include "millrace/placement/apply/journal.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <tuple>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/syscall.h>

namespace millrace::placement {
namespace {

// Moves the descriptors that are needed to 0, 1 and 2 and closes all others, so that nobody waits for the
// guardian at the other end of a pipe that was this process's output.
void keep_only(int alive, int folder, int guarded) {
  constexpr int out_of_the_way = 10;
  const int moved_folder = fcntl(folder, F_DUPFD, out_of_the_way);
  const int moved_guarded = fcntl(guarded, F_DUPFD, out_of_the_way);
  close(2);  // where the system has no descriptors of processes, nothing takes its place
  dup2(alive, 0);
  dup2(moved_folder, 1);
  dup2(moved_guarded, 2);
  syscall(SYS_close_range, 3U, ~0U, 0U);
}

// restore: from the folder with descriptor 1.
template <class Restore>
[[noreturn]] void guard(int alive, const StateFolder& folder, int guarded, const Restore& restore) {
  setsid();
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  prctl(PR_SET_NAME, std::string(guardian_name).c_str());
  keep_only(alive, folder.descriptor(), guarded);
  char word = 0;
  while (read(0, &word, 1) < 0 && errno == EINTR) {
  }
  // Its files close one after the other: once it has ended, the locks on its journals are gone.
  pollfd ended{.fd = 2, .events = POLLIN, .revents = 0};
  while (poll(&ended, 1, -1) < 0 && errno == EINTR) {
  }
  restore();
  // Runs that ended meanwhile have left it for the journal that was there. Refused where others use it.
  rmdir(folder.path().c_str());
  _exit(0);
}

}  // namespace

Guardian::~Guardian() {
  // It has done nothing yet. A word would not reach one that somebody has stopped.
  process_.kill(SIGKILL);
  // Left to init, it would stay where init asks for nobody. Who traced the program may have asked already.
  process_.wait();
}

template <class Restore> Result<Guardian> Guardian::make(const StateFolder& folder, const Restore& restore) {
  Guardian guardian;
  auto pipe = make_pipe();
  if (!pipe) return std::unexpected(pipe.error());
  // Known from now on: the guardian must not have to make a thread.
  std::ignore = machine::default_slice_ns();
  const auto guarded = Descriptor::owned(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0U)));
  const pid_t process = fork();
  if (process < 0) return failure("cannot make a process: {}", system_reason(errno));
  if (process == 0) {
    pipe->write_end.close();
    guard(pipe->read_end.get(), folder, guarded.get(), restore);
  }
  guardian.process_ = ChildProcess::of(process);
  guardian.alive_ = std::move(pipe->write_end);
  return guardian;
}

Result<Guardian> Guardian::start(const Journal& journal) {
  if (journal.refuses()) return Guardian();
  return make(journal.folder(), [&] { restore_by_file(1, journal.name()); });
}

Result<Guardian> Guardian::start(const StateFolder& folder) {
  return make(folder, [&] {
    restore_left_behind(1);
    // Had somebody removed it, journals lie in the one that was made anew.
    if (const auto again = StateFolder::open(folder.path())) restore_left_behind(*again);
  });
}

}  // namespace millrace::placement
