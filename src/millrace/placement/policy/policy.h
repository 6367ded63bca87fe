// Policies: which CPUs each thread of a program may use. Pure: they see values only, never the system.
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
  int number = 0;        // order of birth in the whole program, from 0; never used again
  int process = 0;       // order of birth of its process, from 0
  bool main = false;     // the thread that its process began with
  std::string name;      // as the kernel has it, at most 15 characters; "" until it was read
  machine::CpuSet mask;  // that it was given last; empty: none
};

struct Surroundings {
  const machine::Topology* topology = nullptr;  // may be missing where no policy needs it
  machine::CpuSet allowed;  // what the program was given: its own mask at the start; never empty
  // By CPU number, 0 idle to 1 busy, by whomever but the program's main threads; missing: 0.
  std::vector<double> load;
  // By a thread's number: what is to keep it from those that want the same units, as it was last observed
  // what each uses. Threads that are not in it are in nobody's way.
  std::map<int, machine::CpuSet> by_unit;
};

// What one thread is to have. Without a mask it has what the program was given.
struct ThreadPlan {
  machine::CpuSet mask;
  std::optional<machine::SchedulingClass> scheduling_class;
  std::optional<std::int64_t> slice_ns;
  [[nodiscard]] friend bool operator==(const ThreadPlan&, const ThreadPlan&) = default;
};

// A policy: one plan for each of `threads`, which are in order of birth. Masks lie within `allowed`.
class Policy {
 public:
  using Function = std::function<std::vector<ThreadPlan>(const Surroundings&, std::span<const ThreadView>)>;
  // How it differs from one that looks at all threads together, for the program's sake.
  struct Traits {
    bool each_by_itself = false;  // what a thread gets depends on that thread alone
    bool by_name = false;         // ... and on its name
    bool explicit_masks =
        false;  // CPUs were named, or work seen: masks hold for threads too that are alone in their process
    // Main threads have their masks as soon as their process makes a thread, not only when it has settled.
    bool main_at_first_birth = false;
  };
  Policy() = default;
  Policy(Function function, Traits traits) : function_(std::move(function)), traits_(traits) {}
  // NOLINTNEXTLINE(google-explicit-constructor): any function of that form is a policy
  template <class Callable>
    requires std::is_invocable_r_v<std::vector<ThreadPlan>, Callable&, const Surroundings&,
                                   std::span<const ThreadView>> &&
             (!std::same_as<std::remove_cvref_t<Callable>, Policy>)
  Policy(Callable function) : function_(std::move(function)) {}

  [[nodiscard]] std::vector<ThreadPlan> operator()(const Surroundings& surroundings,
                                                   std::span<const ThreadView> threads) const {
    return function_(surroundings, threads);
  }
  [[nodiscard]] const Traits& traits() const { return traits_; }

 private:
  Function function_;
  Traits traits_;
};

// The masks of the built-in policies; empty sets mean `allowed`. CPUs are taken core by core, fast kinds of
// core first, one PU of each core before any second one, and one core of each FPU group before any second
// one: four threads on a Bulldozer of four modules have a module each.
//   none               every thread everywhere
//   one-to-one         threads other than main one to a PU while there are cores for all; else, while there
//                      are PUs for all, one to a core's PUs; beyond that wider: one LLC each, in turn.
//                      Main threads everywhere
//   main-least-loaded  the same, and main on the least loaded core that no other thread has, where there
//                      is one, else on the least loaded; everywhere once threads outnumber cores. Of cores
//                      with about the same load that on which it is already, else the last: threads to come
//                      take the first
//   spread             all threads, in turn, over the LLCs; where there is one LLC only: each to a core
//                      while there are enough, else everywhere
//   compact            all threads together on the fewest PUs that give each one, LLC by LLC
//   llc                consecutive births share an LLC; as few LLCs as have a PU for each thread
//   units              as Surroundings::by_unit says
// An LLC counts with the PUs of it that are allowed.
[[nodiscard]] std::vector<machine::CpuSet> masks_of(MaskPolicy policy, const Surroundings& surroundings,
                                                    std::span<const ThreadView> threads);

// The masks of the plan's policy, and its class and slice, for every thread.
[[nodiscard]] Policy policy_of(const Plan& plan);

// `policy`, with this class and slice for threads to which it gives none.
[[nodiscard]] Policy with_attributes(Policy policy, std::optional<machine::SchedulingClass> scheduling_class,
                                     std::optional<std::int64_t> slice_ns);

// The same policy, with main threads that have their masks from the first birth of their process on.
[[nodiscard]] Policy with_main_at_first_birth(Policy policy);

// The masks that the first `births` threads will get that a process makes which is alone, for them to take
// without asking.
[[nodiscard]] std::vector<machine::CpuSet> masks_in_advance(const Policy& policy,
                                                            const Surroundings& surroundings, int births);
// Likewise what the main thread of such a process is to have as it makes its first thread. `now`: what it has
// been promised so far.
[[nodiscard]] machine::CpuSet main_mask_in_advance(const Policy& policy, const Surroundings& surroundings,
                                                   const machine::CpuSet& now);

// Explicit lists: thread number n gets lists[n mod size], as far as it is allowed; where nothing of it is
// allowed, everything that is. `lists` is not empty.
[[nodiscard]] Policy cpu_list_policy(std::vector<machine::CpuSet> lists);

}  // namespace millrace::placement
