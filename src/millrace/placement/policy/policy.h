// Policies decide which CPUs each thread of a program may use. They are pure: they see only values, never the
// system.
#pragma once

#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/machine/topology/topology.h"
#include "millrace/placement/policy/plan.h"

#include <concepts>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace millrace::placement {

// A living thread, as a policy sees it.
struct ThreadView {
  int number = 0;        // order of birth in the whole program, from 0; never reused
  int process = 0;       // order of birth of its process, from 0
  bool main = false;     // the first thread of its process
  std::string name;      // the kernel's name, at most 15 characters; "" until it has been read
  machine::CpuSet mask;  // the mask it was given last; empty: none
};

struct MachineState {
  const machine::Topology* topology = nullptr;  // may be null if no policy needs it
  machine::CpuSet allowed;                      // the program's own mask at the start; never empty
  // Load by CPU number, 0 idle to 1 busy, without the program's main threads; missing entries count as 0.
  std::vector<double> load;
  // By thread number, the masks that keep threads apart that compete for the same execution units, as last
  // observed. Threads that are not in it compete with no other.
  std::map<int, machine::CpuSet> by_unit;
};

// What one thread should get. An empty mask means the program's own mask.
struct ThreadPlan {
  machine::CpuSet mask;
  std::optional<machine::SchedulingClass> scheduling_class;
  std::optional<std::int64_t> slice_ns;
  [[nodiscard]] friend bool operator==(const ThreadPlan&, const ThreadPlan&) = default;
};

// A policy returns one plan for each of `threads`, which are in order of birth. Masks are subsets of
// `allowed`.
class Policy {
 public:
  using Function = std::function<std::vector<ThreadPlan>(const MachineState&, std::span<const ThreadView>)>;
  // How the policy differs from the default, which looks at all threads together.
  struct Traits {
    bool each_by_itself = false;  // a thread's plan depends on that thread alone
    bool by_name = false;         // ... and on its name
    bool explicit_masks = false;  // masks were named by the user or follow from observed work: they also
                                  // apply to the only thread of a process
    // Main threads get their masks when their process makes its first thread, not only once it has settled.
    bool main_at_first_birth = false;
  };
  Policy() = default;
  Policy(Function function, Traits traits) : function_(std::move(function)), traits_(traits) {}
  // NOLINTNEXTLINE(google-explicit-constructor): any callable of that form is a policy
  template <class Callable>
    requires std::is_invocable_r_v<std::vector<ThreadPlan>, Callable&, const MachineState&,
                                   std::span<const ThreadView>> &&
             (!std::same_as<std::remove_cvref_t<Callable>, Policy>)
  Policy(Callable function) : function_(std::move(function)) {}

  [[nodiscard]] std::vector<ThreadPlan> operator()(const MachineState& machine_state,
                                                   std::span<const ThreadView> threads) const {
    return function_(machine_state, threads);
  }
  [[nodiscard]] const Traits& traits() const { return traits_; }

 private:
  Function function_;
  Traits traits_;
};

// The masks of the built-in policies; an empty mask means `allowed`. CPUs are taken core by core, fast kinds
// of core first. One PU of each core comes before any second PU, and one core of each FPU group before any
// second core. Four threads on a Bulldozer with four modules thus get a module each.
//
//   none               every thread everywhere
//   one-to-one         other threads get a PU each while there are cores for all; then a core's PUs each
//                      while there are PUs for all; beyond that an LLC each, in turn. Main threads go
//                      everywhere
//   main-least-loaded  as one-to-one, but main gets the least loaded core that no other thread has, or the
//                      least loaded core if all are taken; everywhere once threads outnumber cores. Among
//                      cores of about equal load main stays on its own, else it takes the last one,
//                      because new threads take the first ones
//   spread             all threads go to the LLCs in turn; with a single LLC, a core each while there are
//                      enough cores, else everywhere
//   compact            all threads together on the fewest PUs that give each one, LLC by LLC
//   llc                consecutive births share an LLC; as few LLCs as have a PU for each thread
//   units              the masks in MachineState::by_unit
//
// Only the allowed PUs of an LLC count.
[[nodiscard]] std::vector<machine::CpuSet> masks_of(MaskPolicy policy, const MachineState& machine_state,
                                                    std::span<const ThreadView> threads);

// Applies the masks of the plan's policy, and its class and slice, to every thread.
[[nodiscard]] Policy policy_of(const Plan& plan);

// Returns `policy` with this class and slice for threads to which it gives none.
[[nodiscard]] Policy with_attributes(Policy policy, std::optional<machine::SchedulingClass> scheduling_class,
                                     std::optional<std::int64_t> slice_ns);

// Returns the same policy, but main threads get their masks when their process makes its first thread.
[[nodiscard]] Policy with_main_at_first_birth(Policy policy);

// Explicit lists: thread number n gets the allowed part of lists[n mod size], or everything allowed if that
// part is empty. `lists` must not be empty.
[[nodiscard]] Policy cpu_list_policy(std::vector<machine::CpuSet> lists);

}  // namespace millrace::placement
