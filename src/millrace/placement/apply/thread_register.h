// ThreadRegister: the threads of a program, what each had, what each was given, and the policy they follow.
#pragma once

#include "millrace/placement/apply/crowd_times.h"
#include "millrace/placement/apply/heritage.h"
#include "millrace/placement/apply/journal.h"
#include "millrace/placement/apply/mask_changes.h"
#include "millrace/placement/apply/starters.h"
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

// What happened to the threads of a program so far.
struct RegisterCounts {
  int births = 0;      // threads that were seen to begin, the first one of each process included
  int processes = 0;   // likewise
  int most_alive = 0;  // at one time
  int changes = 0;     // masks, classes and slices that were set
  int refused = 0;     // that the kernel did not grant
  std::string first_refusal;
  std::string not_journalled;        // why nothing is changed any more: what cannot be undone is not done
  std::set<std::string> left_alone;  // names of threads that look after their own mask or class
  std::vector<Crowd> crowds;         // how many there were at once, and how long
};

// Who a living thread is.
struct ThreadIdentity {
  pid_t thread = 0;
  pid_t process = 0;
  int number = 0;  // order of birth, as in ThreadView
  std::string name;
  machine::CpuSet original;  // the mask that it had before anything was changed
  bool left_alone = false;   // it looks after its own mask or class
};

// Told of births and ends by whoever watches the program, it keeps each thread as the policy says, by
// ThreadChanger.
//
// Masks and the count of CPUs: programs take the number of CPUs from the mask of the thread that asks, mostly
// main before it makes others. So main threads keep what they had until their process has settled, or, where
// the policy says so, makes its first thread; and a thread that should have no mask of its own is given back
// the mask that its maker had before millrace changed it, which it would inherit otherwise.
//
// A birth takes the same time however many threads there are. Policies that look at all threads together are
// asked at births while there are few; beyond crowd_size(), a new thread gets the class and slice of the one
// before it and the mask of the program, and the policy is asked with the next observation.
//
// A thread whose mask, class or slice is found to be neither what it had nor what it was given is left alone
// from then on: it, or somebody else, looks after it; and so are those that inherit that from it. Where the
// kernel changed the mask, as the thread's cpuset or the CPUs online have changed, it is placed anew on the
// CPUs that are open to it now.
//
// Any thread may call any function at any time.
class ThreadRegister {
 public:
  // `journal` outlives the register, and is used by it alone.
  ThreadRegister(Surroundings surroundings, Policy policy, Journal& journal);
  ThreadRegister(const ThreadRegister&) = delete;
  ThreadRegister& operator=(const ThreadRegister&) = delete;

  // Masks that new threads may take by themselves at their birth, before anybody tells of them.
  void lay_ready(const std::vector<machine::CpuSet>& masks);

  // The mask that the program's main thread is to take by itself as it makes its first thread, by the load at
  // this moment; empty: it keeps what it has. To be asked again as long as it has not.
  [[nodiscard]] machine::CpuSet lay_main_ready();
  // `told` is called, under the register's lock, with each mask that a thread is about to be given, or may
  // take, and what it had before.
  void on_mask(std::function<void(const machine::CpuSet& mask, const machine::CpuSet& original)> told);
  // Threads that put back what they had, to start programs, are given their masks again afterwards.
  // `starters` outlives the register.
  void watch_starters(Starters& starters);
  // `asked` says whether the program itself has given such a mask to a thread of its own: a process that is
  // met with one, whose maker is not known, keeps it.
  void ask_chosen(std::function<bool(const machine::CpuSet& mask)> asked);
  // Policies see the load as it is at each birth, not only as it was at the start.
  void watch_load();
  // Where others know what is open to a process (machine/limits/open_cpus.h), and what kind of kernel it is:
  // tests.
  void ask_open(std::function<machine::CpuSet(pid_t process)> asked, KernelMasks kernel);

  // What a thread hands down to one that it makes now; nothing for one that is not known.
  [[nodiscard]] std::optional<Heritage> heritage_of(pid_t thread);

  // A process, with its first thread; heritage: of the thread that made it, where that is known. Failure
  // where it is gone; it is then not followed. Nothing happens where it is known.
  Status process_began(pid_t process, const std::optional<Heritage>& heritage = std::nullopt);
  // The program begins now: how long there were how many threads counts from here on.
  void program_begins();
  // A process runs another program from now on. Of its threads only the one is left that executed it,
  // `former`, which has main's number now.
  void process_executed(pid_t process, pid_t former);
  // A thread is stopped in making another, which has not begun: the first one of its process, where it is
  // main, gives it its place before it goes on.
  void makes_a_thread(pid_t maker);
  // A further thread of a process that was told of. given: the mask that it took at its birth, where millrace
  // had laid one ready. Nothing happens where the thread is known.
  void thread_began(pid_t thread, pid_t process, const std::optional<Heritage>& heritage = std::nullopt,
                    const machine::CpuSet& given = {});
  // Of any thread or process; unknown ones are passed over.
  void thread_ended(pid_t thread);

  // Every thread follows `policy` from now on.
  void set_policy(Policy policy);
  // What is observed of units stays. What the program may use is what it was given, as far as it is open.
  void set_surroundings(Surroundings surroundings);
  // What the program may use now: less, or more, than at the start where its cpuset or the CPUs online have
  // changed since. As it was last observed.
  [[nodiscard]] machine::CpuSet allowed() const;
  // Surroundings::by_unit from now on.
  void set_by_unit(std::map<int, machine::CpuSet> by_unit);

  // Run times of all threads that were seen, the ended ones as far as they were read; reads the living ones.
  // Notes which threads ended unseen, whose settling is over and, every tenth time, whose mask was changed by
  // others.
  RunTimes observe();
  // Moves from one CPU to another, read for two threads with each observe(), in turn.
  [[nodiscard]] std::int64_t migrations() const;
  // What the observations so far have seen of the program doing something.
  struct Activity {
    int observations = 0;
    int changes = 0;  // observations by which a thread had run, or had begun or ended unobserved
  };
  [[nodiscard]] Activity activity() const;

  // Gives every thread back what it had, those too that were missed. From then on new threads and processes,
  // of which it is told further, are given that at once, and nothing else happens.
  Restored restore();

  [[nodiscard]] RegisterCounts counts() const;
  // How many threads were seen to begin so far; also since restore(), which the counts leave out.
  [[nodiscard]] int births() const;
  // When the last thread began, or a program was executed, on the clock of now_ns().
  [[nodiscard]] std::int64_t last_birth_ns() const;
  [[nodiscard]] bool knows(pid_t thread) const;
  // Whether any thread has a mask, class or slice that was given, itself or through those that made it. Also
  // of threads that are not known.
  [[nodiscard]] bool has_what_was_given(pid_t thread) const;
  [[nodiscard]] int alive() const;
  // Whether the policy gives any living thread something else than it had.
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
    ThreadPlan wanted;  // what the policy said last
    bool new_born = true;
    bool starting = false;  // a program: it keeps what it has as long
    // It was seen with its maker's mask, which the shim puts back at the start of a process.
    bool puts_back = false;
    // Main was seen then in the place that it has as it makes its first thread, which was not seen since.
    std::optional<std::int64_t> in_place_ns;
  };
  struct Process {
    int order = 0;
    ProcessId id;
    Original original;
    bool alone = false;  // it began with what the program had chosen, which its threads have too
    std::map<pid_t, Thread> threads;
    std::set<pid_t> left_alone;
    std::int64_t last_birth_ns = 0;
    machine::CpuSet open;                // to it, as it was last read; empty: not known
    std::optional<std::int64_t> run_ns;  // of all its threads, when they were observed last
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
  void note_open(Process& process, const machine::CpuSet& open);
  bool find_open();
  void explain_mask(Process& process, const Original& now);
  void forget_starters();
  void place_newcomer(Process& process, Thread& thread);
  void follow_policy();
  void give(Process& process, Thread& thread, const ThreadPlan& wanted);
  void leave_alone(Process& process, Thread& thread);
  void find_executed(Process& process, const Thread& last);
  void find_changed_by_others();

  mutable std::mutex mutex_;
  Surroundings surroundings_;
  Policy policy_;
  Journal* journal_;
  std::map<pid_t, Process> processes_;
  std::unordered_map<pid_t, pid_t> owner_;  // process of each thread
  ThreadChanger changer_;
  ThreadTimes times_;
  CrowdTimes crowds_;
  std::optional<Original> program_original_;  // of the first process
  machine::CpuSet given_at_start_;            // what the program may use as far as it is open
  machine::CpuSet program_open_;              // to the first process, as it was last read; empty: not known
  std::function<machine::CpuSet(pid_t)> open_to_;
  KernelMasks kernel_masks_ = kernel_masks();
  std::optional<LoadGauge> gauge_;
  machine::CpuSet laid_main_;            // what main is to take by itself, as was last said
  std::set<std::string> laid_for_main_;  // all that was said
  std::function<void(const machine::CpuSet&, const machine::CpuSet&)> on_mask_;
  std::function<bool(const machine::CpuSet&)> is_chosen_;
  Starters* starters_ = nullptr;
  ThreadPlan newest_plan_;
  bool to_be_planned_ = false;  // newcomers that the policy was not asked about
  RegisterCounts counts_;
  int births_ = 0;
  int alive_ = 0;
  std::int64_t last_birth_ns_ = 0;
  int next_thread_ = 0;
  int next_process_ = 0;
  Activity activity_;
  bool crowd_changed_ = false;  // somebody began or ended since the last observation
  bool restored_ = false;
};

}  // namespace millrace::placement
