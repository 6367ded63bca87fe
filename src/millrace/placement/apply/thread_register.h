// ThreadRegister: follows the threads of a program, and keeps each as the policy says.
#pragma once

#include "millrace/placement/apply/changes_by_others.h"
#include "millrace/placement/apply/crowd_times.h"
#include "millrace/placement/apply/inherited_settings.h"
#include "millrace/placement/apply/journal.h"
#include "millrace/placement/apply/process_tree.h"
#include "millrace/placement/apply/spawning_threads.h"
#include "millrace/placement/apply/thread_placer.h"
#include "millrace/placement/apply/thread_times.h"
#include "millrace/placement/policy/candidates.h"
#include "millrace/placement/policy/policy.h"
#include "millrace/placement/task/task_files.h"

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

namespace millrace::placement {

// What has happened to the threads of a program so far.
struct RegisterCounts {
  int births = 0;      // threads that were seen to begin, including the first of each process
  int processes = 0;   // processes that were seen to begin
  int most_alive = 0;  // at one time
  int changes = 0;     // masks, classes and slices that were set
  int refused = 0;     // changes that the kernel did not grant
  std::string first_refusal;
  std::string not_journalled;        // why changes have stopped: millrace does not do what it could not undo
  std::set<std::string> left_alone;  // names of threads that manage their own mask or class
  std::vector<Crowd> crowds;         // how many there were at one time, and for how long
};

// Identifies a living thread.
struct ThreadIdentity {
  pid_t thread = 0;
  pid_t process = 0;
  int number = 0;  // order of birth, as in ThreadView
  std::string name;
  machine::CpuSet original;  // its mask before anything was changed
  bool left_alone = false;   // it manages its own mask or class
};

// Applies the placement policy to every thread of the program. The watcher of the program reports births and
// ends. What is decided and done is elsewhere: which threads there are (ProcessTree), what each is given
// (ThreadPlacer), when main is placed (main_placement.h), and whose a change is (ChangesByOthers). This class
// joins them behind one lock and reads what the kernel tells of a birth.
//
// Thread-safe.
class ThreadRegister {
 public:
  // `journal` must outlive the register, which is its only user.
  ThreadRegister(MachineState machine_state, Policy policy, Journal& journal);
  ThreadRegister(const ThreadRegister&) = delete;
  ThreadRegister& operator=(const ThreadRegister&) = delete;

  // Calls `told`, with the register's lock held, with each mask that a thread is about to get, and the mask
  // that it had before.
  void on_mask(std::function<void(const machine::CpuSet& mask, const machine::CpuSet& original)> told);
  // Threads that put back their masks to start programs are given them again afterwards. `spawning` must
  // outlive the register.
  void watch_spawning(SpawningThreads& spawning);
  // `asked` tells whether the program itself gave one of its threads this mask. A process that is found with
  // such a mask keeps it if its maker is unknown.
  void ask_chosen(std::function<bool(const machine::CpuSet& mask)> asked);
  // Policies then see the load at each birth, not only the load at the start.
  void watch_load();
  // For tests: replaces the source of the open CPUs (machine/limits/open_cpus.h) and the kind of kernel.
  void ask_open(std::function<machine::CpuSet(pid_t process)> asked, KernelMasks kernel);
  // For tests: replaces machine::whole_mask().
  void ask_whole_mask(std::function<machine::CpuSet(pid_t thread)> asked);

  // Returns what the thread passes on to a thread that it makes now; nothing if the thread is unknown.
  [[nodiscard]] std::optional<InheritedSettings> inherited_from(pid_t thread);

  // Reports a process with its first thread. inherited: of the thread that made it, if known. Fails if the
  // process is gone; it is then not followed. A known process is ignored.
  Status process_began(pid_t process, const std::optional<InheritedSettings>& inherited = std::nullopt);
  // The program begins now: crowd times are counted from here.
  void program_begins();
  // The process has executed another program. Only the thread that did so, `former`, survives; it now has
  // main's number.
  void process_executed(pid_t process, pid_t former);
  // A thread is stopped just before it makes another. If it is the main thread and makes the first thread of
  // its process, it gets its mask before it goes on.
  void makes_a_thread(pid_t maker);
  // Reports another thread of a known process. A known thread is ignored.
  void thread_began(pid_t thread, pid_t process,
                    const std::optional<InheritedSettings>& inherited = std::nullopt);
  // Reports the end of a thread or process; unknown ones are ignored.
  void thread_ended(pid_t thread);

  // Every thread follows `policy` from now on.
  void set_policy(Policy policy);
  // Replaces everything but the observed use of units. The program may use what it was given, as far as that
  // is open.
  void set_machine_state(MachineState machine_state);
  // Returns the CPUs that the program may use, as last observed. They differ from the start if its cpuset or
  // the online CPUs have changed.
  [[nodiscard]] machine::CpuSet allowed() const;
  // Sets MachineState::by_unit from now on.
  void set_by_unit(std::map<int, machine::CpuSet> by_unit);

  // Reads the living threads and returns the run times of all threads, with the last known values of those
  // that ended. Also finds threads that ended unreported, main threads that have settled and, at every tenth
  // call, masks that others changed.
  RunTimes observe();
  // Migrations from one CPU to another. Each observe() reads them for two threads, in turn.
  [[nodiscard]] std::int64_t migrations() const;
  // How often observations found that the program was active.
  struct Activity {
    int observations = 0;
    int changes = 0;  // observations that found a thread that had run, begun or ended since the one before
  };
  [[nodiscard]] Activity activity() const;

  // From now on, no thread is changed, for this reason.
  void change_nothing(const Error& reason);

  // Restores every thread, also threads that were missed. From then on, threads and processes that are still
  // reported are restored at once, and nothing else is done.
  Restored restore();

  [[nodiscard]] RegisterCounts counts() const;
  // Threads that were seen to begin, including those since restore(), which counts() leaves out.
  [[nodiscard]] int births() const;
  // When the last thread began or a program was executed, on the clock of now_ns().
  [[nodiscard]] std::int64_t last_birth_ns() const;
  [[nodiscard]] bool knows(pid_t thread) const;
  // True if the thread has a mask, class or slice that was given to it or to an ancestor. Works for unknown
  // threads too.
  [[nodiscard]] bool has_what_was_given(pid_t thread) const;
  [[nodiscard]] int alive() const;
  // True if the policy would give any living thread something other than its original state.
  [[nodiscard]] bool changes_anything(const Policy& policy);
  [[nodiscard]] std::vector<pid_t> processes() const;
  [[nodiscard]] std::vector<pid_t> threads() const;
  [[nodiscard]] std::vector<ThreadIdentity> identities() const;

 private:
  FollowedThread& add(FollowedProcess& process, FollowedThread thread);
  void forget(pid_t thread);
  void forget_times(pid_t thread);
  void follow_policy();
  void place_newcomer(FollowedProcess& process, FollowedThread& thread);
  [[nodiscard]] const GivenStates& given_before_birth(pid_t thread, pid_t owner, const Original& now) const;
  void find_executed(FollowedProcess& process, const FollowedThread& last);

  mutable std::mutex mutex_;
  Journal* journal_;
  ProcessTree tree_;
  ChangesByOthers others_;
  ThreadPlacer placer_;
  ThreadTimes times_;
  CrowdTimes crowds_;
  std::function<bool(const machine::CpuSet&)> is_chosen_;
  RegisterCounts counts_;
  Activity activity_;
  bool crowd_changed_ = false;  // a thread began or ended since the last observation
  bool restored_ = false;
};

}  // namespace millrace::placement
