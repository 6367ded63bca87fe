// ThreadPlacer: gives the threads of a program what the policy plans for them, by means of ThreadChanger.
#pragma once

#include "millrace/placement/apply/changes_by_others.h"
#include "millrace/placement/apply/process_tree.h"
#include "millrace/placement/apply/thread_changer.h"
#include "millrace/placement/policy/load_gauge.h"
#include "millrace/placement/policy/policy.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace millrace::placement {

// Returns one plan for each of `threads`, which are in order of birth. expected: a thread that is about to be
// born, which counts as one of its process. Pure if the policy is.
[[nodiscard]] std::vector<ThreadPlan> plans_for(const std::vector<ProcessTree::Found>& threads,
                                                const Policy& policy, const MachineState& machine_state,
                                                std::int64_t now,
                                                const std::optional<ThreadView>& expected = std::nullopt);

// With more threads, policies give masks as wide as caches or wider.
[[nodiscard]] std::size_t crowd_size(const MachineState& machine_state);

// The cost of a birth does not grow with the number of threads. Policies that look at all threads together
// are called at births while there are few threads. Beyond crowd_size(), a new thread gets the class and
// slice of the thread before it and the program's mask, and the policy is called at the next observation.
//
// A new thread would inherit the mask that millrace gave its maker. If the policy gives it none, it gets the
// mask that its maker had before.
//
// Not thread-safe.
class ThreadPlacer {
 public:
  // All references must outlive this object.
  ThreadPlacer(MachineState machine_state, Policy policy, Journal& journal, ProcessTree& tree,
               ChangesByOthers& others)
      : machine_state_(std::move(machine_state)), given_at_start_(machine_state_.allowed),
        policy_(std::move(policy)), journal_(&journal), changer_(journal), tree_(&tree), others_(&others) {}

  // See ThreadRegister.
  void on_mask(std::function<void(const machine::CpuSet&, const machine::CpuSet&)> told) {
    on_mask_ = std::move(told);
  }
  void watch_load();
  void set_policy(Policy policy) { policy_ = std::move(policy); }
  void set_machine_state(MachineState machine_state);
  // Returns whether they differ from before.
  bool set_by_unit(std::map<int, machine::CpuSet> by_unit);
  [[nodiscard]] const machine::CpuSet& allowed() const { return machine_state_.allowed; }

  // The CPUs that are open to the program have changed.
  void confine(const machine::CpuSet& open_then, const machine::CpuSet& open_now);
  // Keeps the load recent for the next birth, if watch_load() was called. Threads are not moved because of
  // load alone.
  std::optional<std::vector<double>> look_at_load();

  // Gives every thread what the policy plans for it now.
  void place_all();
  // Gives a thread that was just born what the policy plans for it, as far as that can be done at once.
  void place_newcomer(FollowedProcess& process, FollowedThread& thread);
  // Gives a main thread, which is about to make its first thread, the mask that it gets then.
  void place_first_maker(FollowedProcess& process, FollowedThread& main);
  // True if `policy` would give any living thread something other than its original state.
  [[nodiscard]] bool changes_anything(const Policy& policy);

  [[nodiscard]] ThreadChanger& changer() { return changer_; }
  [[nodiscard]] const ThreadChanger& changer() const { return changer_; }

 private:
  [[nodiscard]] std::vector<ProcessTree::Found> threads_to_place();
  void read_load();
  void give(FollowedProcess& process, FollowedThread& thread, const ThreadPlan& wanted);

  MachineState machine_state_;
  machine::CpuSet given_at_start_;  // the program may use this, as far as it is open
  Policy policy_;
  Journal* journal_;
  ThreadChanger changer_;
  ProcessTree* tree_;
  ChangesByOthers* others_;
  std::optional<LoadGauge> gauge_;
  std::function<void(const machine::CpuSet&, const machine::CpuSet&)> on_mask_;
  ThreadPlan newest_plan_;
};

}  // namespace millrace::placement
