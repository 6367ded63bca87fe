#include "millrace/placement/policy/candidates.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

namespace millrace::placement {
namespace {

using machine::CpuSet;
using machine::SchedulingClass;

constexpr std::int64_t long_slice_ns = 20'000'000;

// A share of the program's time. Masks that apply for less would have to gain 10 % to reach the 1 % from
// which a plan is accepted.
constexpr double least_share = 0.1;

// What the threads of a program get under a plan.
struct Effect {
  SchedulingClass scheduling_class = SchedulingClass::other;
  std::int64_t slice_ns = 0;
  std::vector<CpuSet> masks;  // of each thread of each crowd
  [[nodiscard]] friend bool operator==(const Effect&, const Effect&) = default;
};

// Main threads come first; the others are dealt out to the processes, because their makers are no longer
// known.
std::vector<ThreadView> threads_of(const Crowd& crowd) {
  std::vector<ThreadView> threads;
  threads.reserve(static_cast<std::size_t>(crowd.threads));
  for (int number = 0; number < crowd.threads; ++number)
    threads.push_back({.number = number,
                       .process = number % crowd.processes,
                       .main = number < crowd.processes,
                       .name = {}});
  return threads;
}

Effect effect_of(const Plan& plan, const MachineState& machine_state,
                 const machine::SchedulingAttributes& own, std::span<const Crowd> crowds) {
  Effect effect{
      .scheduling_class = plan.scheduling_class.value_or(own.scheduling_class), .slice_ns = 0, .masks = {}};
  // Other classes have no slices.
  if (effect.scheduling_class == SchedulingClass::other || effect.scheduling_class == SchedulingClass::batch)
    effect.slice_ns = plan.slice_ns.value_or(own.slice_ns);
  for (const Crowd& crowd : crowds) {
    // ThreadRegister gives no mask to main threads without others.
    const MaskPolicy policy = crowd.threads > crowd.processes ? plan.masks : MaskPolicy::none;
    for (CpuSet& mask : masks_of(policy, machine_state, threads_of(crowd))) {
      if (mask.empty()) mask = machine_state.allowed;
      effect.masks.push_back(std::move(mask));
    }
  }
  return effect;
}

std::vector<Crowd> crowds_that_count(std::span<const Crowd> crowds) {
  double seconds = 0;
  for (const Crowd& crowd : crowds)
    seconds += crowd.seconds;
  std::vector<Crowd> counting;
  std::ranges::copy_if(crowds, std::back_inserter(counting), [&](const Crowd& crowd) {
    return crowd.threads > 1 && crowd.processes > 0 && crowd.seconds >= least_share * seconds;
  });
  return counting;
}

}  // namespace

std::vector<Plan> candidate_plans(const machine::Topology& topology, const CpuSet& allowed, bool slices) {
  std::vector<Plan> plans = {{.scheduling_class = SchedulingClass::batch}};
  if (slices) {
    plans.push_back({.scheduling_class = SchedulingClass::batch, .slice_ns = long_slice_ns});
    plans.push_back({.slice_ns = long_slice_ns});
  }
  if (allowed.count() < 2) return plans;
  plans.push_back({.masks = MaskPolicy::one_to_one});
  plans.push_back({.masks = MaskPolicy::main_least_loaded});
  // The remaining candidates depend on what cores share. They are left out if the topology is made up.
  const auto parts = [&allowed](const std::vector<CpuSet>& sets) {
    return std::ranges::count_if(sets, [&](const auto& set) { return set.intersects(allowed); });
  };
  std::vector<CpuSet> llcs;
  for (const int cpu : allowed) {
    const machine::Cache* cache = topology.last_level_cache_of(cpu);
    if (cache != nullptr && std::ranges::find(llcs, cache->cpus) == llcs.end()) llcs.push_back(cache->cpus);
  }
  const bool several_llcs = parts(llcs) > 1;
  const bool shared_cores = parts(topology.fpu_groups()) < allowed.count();
  if (several_llcs || shared_cores) plans.push_back({.masks = MaskPolicy::spread});
  if (several_llcs) plans.push_back({.masks = MaskPolicy::llc});
  if (several_llcs || shared_cores) plans.push_back({.masks = MaskPolicy::compact});
  return plans;
}

bool may_be_candidate(const Plan& plan) {
  const bool fair = !plan.scheduling_class || *plan.scheduling_class == SchedulingClass::batch;
  return fair && (!plan.slice_ns || *plan.slice_ns == long_slice_ns);
}

std::vector<Plan> plans_that_differ(std::span<const Plan> plans, const MachineState& machine_state,
                                    const machine::SchedulingAttributes& own, std::span<const Crowd> crowds) {
  const std::vector<Crowd> counting = crowds_that_count(crowds);
  std::vector<Plan> differing;
  if (counting.empty()) return differing;
  std::vector<Effect> effects = {effect_of(Plan(), machine_state, own, counting)};
  for (const Plan& plan : plans) {
    Effect effect = effect_of(plan, machine_state, own, counting);
    if (std::ranges::find(effects, effect) != effects.end()) continue;
    effects.push_back(std::move(effect));
    differing.push_back(plan);
  }
  return differing;
}

}  // namespace millrace::placement
