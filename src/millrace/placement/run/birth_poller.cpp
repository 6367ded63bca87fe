#include "millrace/placement/run/birth_poller.h"

#include "millrace/placement/task/task_files.h"

#include <tuple>
#include <unistd.h>
#include <utility>

#include <sys/prctl.h>

namespace millrace::placement {

BirthPoller::~BirthPoller() { prctl(PR_SET_CHILD_SUBREAPER, 0); }

void BirthPoller::take_orphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

void BirthPoller::look_for_orphans(std::set<pid_t> own) {
  take_orphans();
  own_ = std::move(own);
  looks_for_orphans_ = true;
}

bool BirthPoller::poll() {
  const int known = threads_->births();
  if (shim_ != nullptr)
    for (const ShimBirth& birth : shim_->take_births())
      threads_->thread_began(birth.thread, birth.process, std::nullopt, birth.mask);
  // Births of processes that are not known yet, and those that went past the shim.
  for (const pid_t process : threads_->processes()) {
    const std::vector<pid_t> threads = list_threads(process);
    for (const pid_t thread : threads) {
      // One that is seen for the first time may be about to take its mask by the shim; its birth would be
      // counted in the wrong order.
      if (shim_ != nullptr && thread != process && seen_once_.insert(thread).second) continue;
      if (threads_->knows(thread)) continue;
      // The kernel's own in there (io_uring) are none of the program's.
      const auto stat = read_task_stat(process, thread);
      if (stat && !stat->of_kernel()) threads_->thread_began(thread, process);
    }
    for (const pid_t child : children_.read(process, threads))
      std::ignore = threads_->process_began(child);
  }
  children_.forget_others();
  // Those whose makers have ended.
  if (looks_for_orphans_)
    for (const pid_t child : list_children(getpid()))
      if (!own_.contains(child)) std::ignore = threads_->process_began(child);
  return threads_->births() != known;
}

}  // namespace millrace::placement
