#include "millrace/placement/apply/guardian.h"

#include "millrace/base/descriptor/pipe.h"
#include "millrace/base/error/system_reason.h"
#include "millrace/machine/limits/open_cpus.h"
#include "millrace/machine/thread/scheduling_attributes.h"
#include "millrace/placement/apply/journal.h"
#include "millrace/placement/apply/mask_changes.h"

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

// Moves the needed descriptors to 0, 1 and 2 and closes all others. Otherwise the guardian would hold this
// process's output pipe open, and its reader would wait for the guardian.
void keep_only(int alive, int folder, int guarded) {
  constexpr int out_of_the_way = 10;
  const int moved_folder = fcntl(folder, F_DUPFD, out_of_the_way);
  const int moved_guarded = fcntl(guarded, F_DUPFD, out_of_the_way);
  close(2);  // without pidfd support, 2 stays closed
  dup2(alive, 0);
  dup2(moved_folder, 1);
  dup2(moved_guarded, 2);
  syscall(SYS_close_range, 3U, ~0U, 0U);
}

// ready: is written to once the guardian can do without this process. restore: works on the folder with
// descriptor 1.
template <class Restore>
[[noreturn]] void guard(int ready, int alive, const StateFolder& folder, int guarded,
                        const Restore& restore) {
  setsid();
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  prctl(PR_SET_NAME, std::string(guardian_name).c_str());
  std::ignore = write(ready, "r", 1);
  keep_only(alive, folder.descriptor(), guarded);
  char word = 0;
  while (read(0, &word, 1) < 0 && errno == EINTR) {
  }
  // A process closes its files one by one. After its end, all locks on its journals are released.
  pollfd ended{.fd = 2, .events = POLLIN, .revents = 0};
  while (poll(&ended, 1, -1) < 0 && errno == EINTR) {
  }
  restore();
  // Runs that ended meanwhile left the folder in place because of this journal. rmdir() fails if others still
  // use it.
  rmdir(folder.path().c_str());
  _exit(0);
}

bool is_ready(int ready) {
  char word = 0;
  ssize_t size = 0;
  while ((size = read(ready, &word, 1)) < 0 && errno == EINTR) {
  }
  return size == 1;
}

}  // namespace

Guardian::~Guardian() {
  // It has done nothing yet. A polite request would not reach a guardian that has been stopped with a signal.
  process_.kill(SIGKILL);
  // Reaps it: where init does not reap children, it would stay a zombie. A tracer of the program may have
  // reaped it already.
  process_.wait();
}

template <class Restore> Result<Guardian> Guardian::make(const StateFolder& folder, const Restore& restore) {
  Guardian guardian;
  auto pipe = make_pipe();
  if (!pipe) return std::unexpected(pipe.error());
  auto ready = make_pipe();
  if (!ready) return std::unexpected(ready.error());
  // Read now and cached: the guardian must not start a thread to find them out, nor wait for one of this
  // process that does so at this moment.
  std::ignore = machine::default_slice_ns();
  std::ignore = machine::open_cpus(getpid());
  std::ignore = kernel_masks();
  const auto guarded = Descriptor::owned(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0U)));
  const pid_t process = fork();
  if (process < 0) return failure("cannot make a process: {}", system_reason(errno));
  if (process == 0) {
    pipe->write_end.close();
    ready->read_end.close();
    guard(ready->write_end.get(), pipe->read_end.get(), folder, guarded.get(), restore);
  }
  guardian.process_ = ChildProcess::of(process);
  guardian.alive_ = std::move(pipe->write_end);
  // Until it has left this process's group, a signal that kills the group kills both.
  ready->write_end.close();
  if (!is_ready(ready->read_end.get())) return failure("the process that guards the threads has ended");
  return guardian;
}

Result<Guardian> Guardian::start(Journal& journal) {
  if (journal.refuses()) return none();
  constexpr int attempts = 10;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    if (auto opened = journal.open_folder(); !opened) return std::unexpected(opened.error());
    auto guardian = make(journal.folder(), [&] { restore_by_file(1, journal.name()); });
    if (!guardian) return guardian;
    const auto named = journal.give_name();
    if (!named) return std::unexpected(named.error());
    if (*named) return guardian;
  }
  return failure("{} was removed by others again and again", journal.folder().path().string());
}

Result<Guardian> Guardian::start(const StateFolder& folder) {
  return make(folder, [&] {
    restore_left_behind(1);
    // If the folder was removed, newer journals are in the one that was made anew.
    if (const auto again = StateFolder::open(folder.path())) restore_left_behind(*again);
  });
}

}  // namespace millrace::placement
