// ProcessTree: the processes and threads that belong to a program, by number and in order of birth. Pure.
//
//   ProcessTree tree;
//   FollowedProcess& process = tree.add_process({.id = {.number = 100}});
//   tree.add_thread(process, {.state = {.number = 100}, .main = true}, now);
//   tree.find(100).thread->order;  // 0: the first thread of the program
//   tree.remove(100);              // its process is gone too, which had no other thread
#pragma once

#include "millrace/placement/apply/thread_changer.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace millrace::placement {

struct FollowedThread {
  ChangedThread state;
  int order = 0;  // of its birth in the whole program
  bool main = false;
  std::string name;
  ThreadPlan wanted;  // the policy's latest plan
  bool new_born = true;
  bool starting = false;  // about to start a program; keeps what it has until then
  // It was seen with its maker's mask, which the mask library puts back at the start of a process.
  bool puts_back = false;
  // When main was seen with the mask that it gets as it makes its first thread. Empty once that thread is
  // seen.
  std::optional<std::int64_t> in_place_ns;
};

struct FollowedProcess {
  ProcessId id;
  Original original;
  bool alone = false;         // it began with a state that the program had chosen; so do its threads
  machine::CpuSet open = {};  // the CPUs open to it, as last read; empty: not known
  int order = 0;              // of its birth in the whole program
  std::map<pid_t, FollowedThread> threads = {};
  std::set<pid_t> left_alone = {};
  std::int64_t last_birth_ns = 0;
  std::optional<std::int64_t> run_ns = {};  // of all its threads, at the last observation
};

// References to processes and threads stay valid until they are removed. Times are on the clock of now_ns().
class ProcessTree {
 public:
  // Both null: the thread is unknown.
  struct Found {
    FollowedProcess* process = nullptr;
    FollowedThread* thread = nullptr;
  };

  // Sets the order. The process must be unknown; its main thread must be added next.
  FollowedProcess& add_process(FollowedProcess process);
  // Sets the order. The thread must be unknown.
  FollowedThread& add_thread(FollowedProcess& process, FollowedThread thread, std::int64_t now);
  // Also removes its process if that has no other thread. Unknown threads are ignored.
  void remove(pid_t thread);
  // The process has executed a program: of its threads, only `survivor` is left, which is now main. Returns
  // the others.
  std::vector<pid_t> execute(FollowedProcess& process, pid_t survivor, std::int64_t now);
  // The process has executed a program. It asks for the number of CPUs first, so settling starts anew.
  void settle_anew(FollowedProcess& process, std::int64_t now) {
    last_birth_ns_ = process.last_birth_ns = now;
  }
  // Other CPUs are open to the process now. Threads without a mask of their own originally had all CPUs that
  // were open. Returns true if the process is confined like the program's first process.
  [[nodiscard]] bool confine(FollowedProcess& process, const machine::CpuSet& open);
  // The thread is to be given a new plan soon.
  void await_plan(FollowedThread& thread) { thread.new_born = plan_awaited_ = true; }
  void await_plan() { plan_awaited_ = true; }

  [[nodiscard]] Found find(pid_t thread);
  [[nodiscard]] bool contains(pid_t thread) const { return owner_.contains(thread); }
  [[nodiscard]] std::map<pid_t, FollowedProcess>& processes() { return processes_; }
  [[nodiscard]] const std::map<pid_t, FollowedProcess>& processes() const { return processes_; }
  // The threads that are not left alone, in order of birth.
  [[nodiscard]] std::vector<Found> to_place();
  // The first process as it began, which may have ended, on the CPUs that are open to it now.
  struct Program {
    Original original;
    machine::CpuSet open;  // as last read; empty: not known
  };
  [[nodiscard]] const std::optional<Program>& program() const { return program_; }

  [[nodiscard]] int births() const { return next_thread_; }  // also the order of the next thread
  [[nodiscard]] int alive() const { return static_cast<int>(owner_.size()); }
  [[nodiscard]] std::int64_t last_birth_ns() const { return last_birth_ns_; }
  // True if await_plan() was called since plans_made().
  [[nodiscard]] bool plan_awaited() const { return plan_awaited_; }
  void plans_made() { plan_awaited_ = false; }

 private:
  std::map<pid_t, FollowedProcess> processes_;
  std::unordered_map<pid_t, pid_t> owner_;  // process of each thread
  std::optional<Program> program_;
  int next_thread_ = 0;
  int next_process_ = 0;
  std::int64_t last_birth_ns_ = 0;
  bool plan_awaited_ = false;
};

}  // namespace millrace::placement
