#include "millrace/placement/run/birth_poller.h"

#include "millrace/placement/task/task_files.h"

#include <tuple>
#include <unistd.h>

#include <sys/prctl.h>

namespace millrace::placement {

BirthPoller::BirthPoller(ThreadRegister& threads, BirthShim* shim) : threads_(&threads), shim_(shim) {
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
  to_be_confirmed_ = !calm || found || passed_over_;
  before_ = now;
  return found;
}

bool BirthPoller::poll() {
  const int known = threads_->births();
  passed_over_ = false;
  if (shim_ != nullptr)
    for (const ShimBirth& birth : shim_->take_births())
      // The program can write arbitrary numbers on the board.
      if (is_thread_of(birth.thread, birth.process))
        threads_->thread_began(birth.thread, birth.process, std::nullopt, birth.mask);
  // Births of processes that are not known yet, and births that bypassed the shim.
  for (const pid_t process : threads_->processes()) {
    const std::vector<pid_t> threads = list_threads(process);
    for (const pid_t thread : threads) {
      // A thread seen for the first time may be about to take its mask through the shim. Reporting it now
      // would count its birth in the wrong order.
      if (shim_ != nullptr && thread != process && seen_once_.insert(thread).second) {
        passed_over_ = true;
        continue;
      }
      if (threads_->knows(thread)) continue;
      if (shim_ != nullptr && thread != process && !shim_->hold_back(thread)) {
        passed_over_ = true;
        continue;
      }
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
