// ChangesByOthers: tells which changes of a thread are not millrace's: those of the program, those of the
// kernel when other CPUs are open to the thread, and those of the preloaded mask library.
#pragma once

#include "millrace/placement/apply/journal.h"
#include "millrace/placement/apply/mask_changes.h"
#include "millrace/placement/apply/process_tree.h"
#include "millrace/placement/apply/spawning_threads.h"

#include <functional>
#include <set>
#include <string>

namespace millrace::placement {

// If a thread's mask, class or slice is neither its original nor what it was given, the thread or another
// program manages it. It is left alone from then on, and so are threads that inherit from it. If the kernel
// changed the mask because the cpuset or the online CPUs changed, the thread is placed anew on the CPUs that
// are open now.
//
// Not thread-safe.
class ChangesByOthers {
 public:
  // Where the state of threads is read. Tests replace it.
  struct Sources {
    std::function<machine::CpuSet(pid_t process)> open_cpus;  // machine::open_cpus()
    std::function<machine::CpuSet(pid_t thread)> whole_mask;  // machine::whole_mask()
    std::function<Result<Original>(pid_t thread)> read = read_original;
    KernelMasks kernel = kernel_masks();
  };
  // Calls `confined` when other CPUs than before are open to the program. All arguments must outlive this.
  ChangesByOthers(ProcessTree& tree, Journal& journal, Sources sources,
                  std::function<void(const machine::CpuSet& then, const machine::CpuSet& now)> confined)
      : tree_(&tree), journal_(&journal), sources_(std::move(sources)), confined_(std::move(confined)) {}

  [[nodiscard]] Sources& sources() { return sources_; }
  void watch_spawning(SpawningThreads& spawning) { spawning_ = &spawning; }
  [[nodiscard]] SpawningThreads* spawning() const { return spawning_; }

  // Returns the CPUs open to a process that has just been seen for the first time with the state `now`;
  // empty: not known. inherits: its maker is known. Puts CPUs into the mask that are just going offline or
  // coming online.
  [[nodiscard]] machine::CpuSet open_at_birth(pid_t process, bool inherits, Original& now) const;
  // The thread was born with the state `now`, whose mask is unexplained. The kernel may have made it.
  void explain_mask(FollowedProcess& process, pid_t thread, Original& now);
  // Reads the CPUs open to the first process and, if those changed, to all. Returns whether they did.
  bool find_open();
  // Looks for changes in all threads, and leaves those alone that manage themselves.
  void find_all();

  // Notices that the mask library put back the thread's original mask.
  void notice_put_back(FollowedThread& thread);
  // True if the thread or another program has changed it. Notices what the mask library and the kernel did.
  [[nodiscard]] bool is_managed(FollowedProcess& process, FollowedThread& thread);
  // True if the kernel changed the thread's mask to that of `now` because other CPUs are open to it. Then it
  // awaits a plan. While CPUs are just going offline or coming online, it awaits one too, to be looked at
  // again.
  [[nodiscard]] bool changed_by_kernel(FollowedProcess& process, FollowedThread& thread, const Original& now);
  // From now on, the thread is not changed.
  void leave_alone(FollowedProcess& process, FollowedThread& thread);
  [[nodiscard]] const std::set<std::string>& left_alone() const { return left_alone_; }

 private:
  void note_open(FollowedProcess& process, const machine::CpuSet& open);
  void take_kernels(const FollowedProcess& process, FollowedThread& thread, const machine::CpuSet& mask);
  [[nodiscard]] bool forgotten_by_kernel(FollowedProcess& process);
  void settle_mask(pid_t thread, const machine::CpuSet& open, Original& now) const;

  ProcessTree* tree_;
  Journal* journal_;
  Sources sources_;
  std::function<void(const machine::CpuSet&, const machine::CpuSet&)> confined_;
  SpawningThreads* spawning_ = nullptr;
  std::set<std::string> left_alone_;  // names of threads
};

}  // namespace millrace::placement
