// ThreadRegister: the threads of a program, their original and given states, and the policy they follow.
#pragma once

#include "millrace/placement/apply/crowd_times.h"
#include "millrace/placement/apply/inherited_settings.h"
#include "millrace/placement/apply/journal.h"
#include "millrace/placement/apply/mask_changes.h"
#include "millrace/placement/apply/spawning_threads.h"
#include "millrace/placement/apply/thread_changer.h"
#include "millrace/placement/apply/thread_times.h"
#include "millrace/placement/policy/candidates.h"
#include "millrace/placement/policy/load_gauge.h"
#include "millrace/placement/policy/policy.h"
#include "millrace/placement/policy/settling.h"
#include "millrace/placement/task/task_files.h"

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

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

// Applies the placement policy to every thread of the program by means of ThreadChanger. The watcher of the
// program reports births and ends.
//
// Masks and the number of CPUs: programs derive the number of CPUs from the mask of the thread that asks;
// usually main asks before it makes threads. So a main thread keeps its mask until its process has settled
// or, if the policy says so, makes its first thread. A new thread would inherit the mask that millrace gave
// its maker. If the policy gives it none, it gets the mask that its maker had before.
//
// The cost of a birth does not grow with the number of threads. Policies that look at all threads together
// are called at births while there are few threads. Beyond crowd_size(), a new thread gets the class and
// slice of the thread before it and the program's mask, and the policy is called at the next observation.
//
// If a thread's mask, class or slice is neither its original nor what it was given, the thread or another
// program manages it. It is left alone from then on, and so are threads that inherit from it. If the kernel
// changed the mask because the cpuset or the online CPUs changed, the thread is placed anew on the CPUs that
// are open now.
//
// Thread-safe.
class ThreadRegister {
 public:
  // `journal` must outlive the register, which is its only user.
  ThreadRegister(MachineState machine_state, Policy policy, Journal& journal);
  ThreadRegister(const ThreadRegister&) = delete;
  ThreadRegister& operator=(const ThreadRegister&) = delete;

  // Prepares masks that new threads may take themselves at birth, before the birth is reported.
  void lay_ready(const std::vector<machine::CpuSet>& masks);

  // Returns the mask that the program's main thread is to take itself when it makes its first thread, by the
  // current load. Empty: it keeps what it has. Call it repeatedly until main has made that thread.
  [[nodiscard]] machine::CpuSet lay_main_ready();
  // Calls `told`, with the register's lock held, with each mask that a thread is about to get or may take,
  // and the mask that it had before.
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
  // Reports another thread of a known process. given: the prepared mask that it took at its birth, if any. A
  // known thread is ignored.
  void thread_began(pid_t thread, pid_t process,
                    const std::optional<InheritedSettings>& inherited = std::nullopt,
                    const machine::CpuSet& given = {});
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
  struct Thread {
    ChangedThread state;
    int order = 0;
    bool main = false;
    std::string name;
    ThreadPlan wanted;  // the policy's latest plan
    bool new_born = true;
    bool starting = false;  // about to start a program; keeps what it has until then
    // It was seen with its maker's mask, which the shim puts back at the start of a process.
    bool puts_back = false;
    // When main was seen with the mask that it gets as it makes its first thread. Empty once that thread is
    // seen.
    std::optional<std::int64_t> in_place_ns;
  };
  struct Process {
    int order = 0;
    ProcessId id;
    Original original;
    bool alone = false;  // it began with a state that the program had chosen; so do its threads
    std::map<pid_t, Thread> threads;
    std::set<pid_t> left_alone;
    std::int64_t last_birth_ns = 0;
    machine::CpuSet open;                // the CPUs open to it, as last read; empty: not known
    std::optional<std::int64_t> run_ns;  // of all its threads, at the last observation
  };

  [[nodiscard]] std::pair<Process*, Thread*> find(pid_t thread);
  Thread& add(Process& process, Thread thread);
  void forget(Process& process, std::map<pid_t, Thread>::iterator thread);
  void forget_if_empty(pid_t process);
  [[nodiscard]] std::size_t crowd_size() const;
  [[nodiscard]] static LivingThread living(const Process& process, const Thread& thread);
  [[nodiscard]] ThreadPlan kept_in_place(const Process& process, const Thread& thread, ThreadPlan plan) const;
  [[nodiscard]] std::vector<ThreadPlan> plans_by(const Policy& policy,
                                                 std::vector<std::pair<Process*, Thread*>>& threads,
                                                 const Process* maker = nullptr);
  [[nodiscard]] std::optional<std::vector<double>> look_at_load();
  void read_load();
  void note_ready(const machine::CpuSet& mask);
  void take_over_own(const Process& process, Thread& thread);
  [[nodiscard]] bool looks_after_itself(Process& process, Thread& thread);
  [[nodiscard]] bool changed_by_kernel(Process& process, Thread& thread, const Original& now);
  void take_kernels(const Process& process, Thread& thread, const machine::CpuSet& mask);
  [[nodiscard]] bool forgotten_by_kernel(Process& process);
  void note_open(Process& process, const machine::CpuSet& open);
  bool find_open();
  void settle_mask(pid_t thread, const machine::CpuSet& open, Original& now) const;
  void explain_mask(Process& process, pid_t thread, Original& now);
  void forget_spawning();
  void place_newcomer(Process& process, Thread& thread);
  void follow_policy();
  void give(Process& process, Thread& thread, const ThreadPlan& wanted);
  void leave_alone(Process& process, Thread& thread);
  void find_executed(Process& process, const Thread& last);
  void find_changed_by_others();

  mutable std::mutex mutex_;
  MachineState machine_state_;
  Policy policy_;
  Journal* journal_;
  std::map<pid_t, Process> processes_;
  std::unordered_map<pid_t, pid_t> owner_;  // process of each thread
  ThreadChanger changer_;
  ThreadTimes times_;
  CrowdTimes crowds_;
  std::optional<Original> program_original_;  // of the first process
  machine::CpuSet given_at_start_;            // the program may use this, as far as it is open
  machine::CpuSet program_open_;  // the CPUs open to the first process, as last read; empty: not known
  std::function<machine::CpuSet(pid_t)> open_to_;
  std::function<machine::CpuSet(pid_t)> whole_mask_;
  KernelMasks kernel_masks_ = kernel_masks();
  std::optional<LoadGauge> gauge_;
  machine::CpuSet laid_main_;            // the latest mask that main was told to take
  std::set<std::string> laid_for_main_;  // all masks that main was told to take
  std::function<void(const machine::CpuSet&, const machine::CpuSet&)> on_mask_;
  std::function<bool(const machine::CpuSet&)> is_chosen_;
  SpawningThreads* spawning_ = nullptr;
  ThreadPlan newest_plan_;
  bool to_be_planned_ = false;  // there are new threads that the policy was not called for
  RegisterCounts counts_;
  int births_ = 0;
  int alive_ = 0;
  std::int64_t last_birth_ns_ = 0;
  int next_thread_ = 0;
  int next_process_ = 0;
  Activity activity_;
  bool crowd_changed_ = false;  // a thread began or ended since the last observation
  bool restored_ = false;
};

}  // namespace millrace::placement
