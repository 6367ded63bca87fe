#include "millrace/placement/run/birth_poller.h"

#include "millrace/placement/task/task_files.h"

#include <tuple>
#include <unistd.h>

#include <sys/prctl.h>

namespace millrace::placement {

BirthPoller::BirthPoller(ThreadRegister& threads) : threads_(&threads) {
  prctl(PR_GET_CHILD_SUBREAPER, &took_orphans_before_);
}

BirthPoller::~BirthPoller() { prctl(PR_SET_CHILD_SUBREAPER, took_orphans_before_); }

void BirthPoller::take_orphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

bool BirthPoller::poll_if_any_ran() {
  const ThreadRegister::Activity now = threads_->activity();
  // A thread that ran after the last look has run more by now. Observations made before that look are
  // therefore the baseline.
  const bool observed = now.observations > before_.observations;
  const bool calm = observed && now.changes == before_.changes;
  if (calm && !to_be_confirmed_) return false;
  const bool found = poll();
  // The kernel's list of children skips entries while others end.
  to_be_confirmed_ = !calm || found;
  before_ = now;
  return found;
}

bool BirthPoller::poll() {
  const int known = threads_->births();
  for (const pid_t process : threads_->processes()) {
    const std::vector<pid_t> threads = list_threads(process);
    for (const pid_t thread : threads) {
      if (threads_->knows(thread)) continue;
      // Kernel threads in the process (io_uring) are not the program's.
      const auto stat = read_task_stat(process, thread);
      if (stat && !stat->of_kernel()) threads_->thread_began(thread, process);
    }
    for (const pid_t child : children_.read(process, threads))
      if (!accept_ || accept_(child)) std::ignore = threads_->process_began(child);
  }
  children_.forget_others();
  if (orphans_)
    for (const pid_t orphan : orphans_->find(*threads_))
      if (!accept_ || accept_(orphan)) std::ignore = threads_->process_began(orphan);
  return threads_->births() != known;
}

}  // namespace millrace::placement
