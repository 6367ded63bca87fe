#include "millrace/placement/policy/policy.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace millrace::placement {
namespace {

using machine::CpuSet;

// The allowed part of each core, fast kinds first, then FPU group by FPU group.
std::vector<CpuSet> allowed_cores(const MachineState& machine_state) {
  const machine::Topology& topology = *machine_state.topology;
  // Fastest kind first; each kind in topology order.
  std::map<int, std::vector<CpuSet>, std::greater<>> of_kind;
  for (const CpuSet& group : topology.fpu_groups())
    for (const CpuSet& core : topology.cores()) {
      const CpuSet usable = core & machine_state.allowed;
      if (!usable.empty() && group.contains(usable.lowest()))
        of_kind[topology.core_kind_of(usable.lowest())].push_back(usable);
    }
  std::vector<CpuSet> cores;
  for (const auto& [kind, usable] : of_kind)
    cores.insert(cores.end(), usable.begin(), usable.end());
  return cores;
}

// Puts the cores in the order in which threads take them: one of each FPU group before any second one. Two
// cores of one group (a Bulldozer module) share the units for floating-point work.
std::vector<CpuSet> group_by_group(const machine::Topology& topology, const std::vector<CpuSet>& cores) {
  std::map<std::pair<int, int>, int> seen;  // cores of a group, by kind and the group's lowest PU
  std::vector<std::pair<std::pair<int, int>, CpuSet>> ranked;
  for (const CpuSet& core : cores) {
    const int kind = topology.core_kind_of(core.lowest());
    const int rank = seen[{kind, topology.fpu_group_of(core.lowest()).lowest()}]++;
    ranked.push_back({{-kind, rank}, core});
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<std::pair<int, int>, CpuSet>::first);
  std::vector<CpuSet> order;
  for (auto& [rank, core] : ranked)
    order.push_back(std::move(core));
  return order;
}

// The allowed part of each last-level cache, in core order.
std::vector<CpuSet> allowed_llcs(const MachineState& machine_state, const std::vector<CpuSet>& cores) {
  std::vector<CpuSet> llcs;
  for (const CpuSet& core : cores) {
    const machine::Cache* cache = machine_state.topology->last_level_cache_of(core.lowest());
    CpuSet llc = cache == nullptr ? core : cache->cpus & machine_state.allowed;
    if (std::ranges::find(llcs, llc) == llcs.end()) llcs.push_back(std::move(llc));
  }
  return llcs;
}

double load_of(const MachineState& machine_state, const CpuSet& core) {
  double load = 0;
  for (const int cpu : core)
    if (static_cast<std::size_t>(cpu) < machine_state.load.size())
      load += machine_state.load[static_cast<std::size_t>(cpu)];
  return load;
}

struct Places {
  CpuSet allowed;
  std::vector<CpuSet> neighbours;  // cores in order, those of one FPU group together
  std::vector<CpuSet> cores;       // in the order in which threads take them
  std::vector<CpuSet> llcs;
};

// One mask for each of `count` threads, none of them a main thread.
std::vector<CpuSet> one_to_one(const Places& places, std::size_t count) {
  std::vector<CpuSet> masks(count);
  const auto pus = static_cast<std::size_t>(places.allowed.count());
  for (std::size_t i = 0; i < count; ++i) {
    if (count <= places.cores.size())
      masks[i] = places.cores[i].first(1);
    else if (count <= pus)
      masks[i] = places.cores[i % places.cores.size()];
    else
      masks[i] = places.llcs[i % places.llcs.size()];
  }
  return masks;
}

// Cores whose loads differ by less count as equal: moving costs time, and load is counted in ticks.
constexpr double as_good = 0.1;

// The least loaded of `choice`, for a main thread that has the mask `now`.
CpuSet least_loaded(const MachineState& machine_state, const std::vector<CpuSet>& choice, const CpuSet& now) {
  double least = load_of(machine_state, choice.front());
  for (const CpuSet& core : choice)
    least = std::min(least, load_of(machine_state, core));
  const CpuSet* best = nullptr;
  for (const CpuSet& core : choice) {
    if (load_of(machine_state, core) >= least + as_good) continue;
    best = &core;
    if (core.intersects(now)) break;
  }
  return *best;
}

// The place for main, which has the mask `now`, next to threads with masks of one PU each.
CpuSet place_for_main(const MachineState& machine_state, const Places& places,
                      const std::vector<CpuSet>& taken, const CpuSet& now) {
  if (taken.size() > places.cores.size()) return {};
  const auto is_free = [&](const CpuSet& cpus) {
    return std::ranges::none_of(taken, [&](const CpuSet& mask) { return mask.intersects(cpus); });
  };
  std::vector<CpuSet> free;
  std::vector<CpuSet> with_free_units;
  for (const CpuSet& core : places.cores) {
    if (!is_free(core)) continue;
    free.push_back(core);
    if (is_free(machine_state.topology->fpu_group_of(core.lowest()))) with_free_units.push_back(core);
  }
  const std::vector<CpuSet>& choice = !with_free_units.empty() ? with_free_units
                                      : free.empty()           ? places.cores
                                                               : free;
  return least_loaded(machine_state, choice, now).first(1);
}

std::vector<CpuSet> one_to_one_beside_main(MaskPolicy policy, const MachineState& machine_state,
                                           const Places& places, std::span<const ThreadView> threads) {
  const auto others = static_cast<std::size_t>(
      std::ranges::count_if(threads, [](const auto& thread) { return !thread.main; }));
  const std::vector<CpuSet> taken = one_to_one(places, others);
  const bool places_main = policy == MaskPolicy::main_least_loaded && others > 0;
  std::vector<CpuSet> masks;
  std::size_t next = 0;
  for (const ThreadView& thread : threads)
    if (!thread.main)
      masks.push_back(taken[next++]);
    else
      masks.push_back(places_main ? place_for_main(machine_state, places, taken, thread.mask) : CpuSet());
  return masks;
}

std::vector<CpuSet> spread(const Places& places, std::size_t count) {
  if (places.llcs.size() == 1 && count > places.cores.size()) return std::vector<CpuSet>(count);
  const std::vector<CpuSet>& parts = places.llcs.size() == 1 ? places.cores : places.llcs;
  std::vector<CpuSet> masks;
  for (std::size_t i = 0; i < count; ++i)
    masks.push_back(parts[i % parts.size()]);
  return masks;
}

std::vector<CpuSet> compact(const Places& places, std::size_t count) {
  CpuSet together;
  for (const CpuSet& llc : places.llcs)
    for (const CpuSet& core : places.neighbours)
      if (llc.contains_all(core) && static_cast<std::size_t>(together.count()) < count) together |= core;
  return std::vector(count, together);
}

std::vector<CpuSet> by_llc(const Places& places, std::size_t count) {
  std::size_t used = 0;
  for (std::size_t pus = 0; used < places.llcs.size() && pus < count; ++used)
    pus += static_cast<std::size_t>(places.llcs[used].count());
  std::vector<CpuSet> masks;
  for (std::size_t i = 0; i < count; ++i)
    masks.push_back(places.llcs[i * used / count]);
  return masks;
}

std::vector<CpuSet> by_unit(const MachineState& machine_state, std::span<const ThreadView> threads) {
  std::vector<CpuSet> masks;
  for (const ThreadView& thread : threads) {
    const auto found = machine_state.by_unit.find(thread.number);
    masks.push_back(found == machine_state.by_unit.end() ? CpuSet() : found->second & machine_state.allowed);
  }
  return masks;
}

}  // namespace

std::vector<CpuSet> masks_of(MaskPolicy policy, const MachineState& machine_state,
                             std::span<const ThreadView> threads) {
  if (policy == MaskPolicy::none) return std::vector<CpuSet>(threads.size());
  if (policy == MaskPolicy::units) return by_unit(machine_state, threads);
  Places places;
  places.neighbours = allowed_cores(machine_state);
  if (places.neighbours.empty()) return std::vector<CpuSet>(threads.size());
  places.cores = group_by_group(*machine_state.topology, places.neighbours);
  for (const CpuSet& core : places.cores)
    places.allowed |= core;
  places.llcs = allowed_llcs(machine_state, places.cores);
  switch (policy) {
  case MaskPolicy::none:
  case MaskPolicy::units:
    break;
  case MaskPolicy::one_to_one:
  case MaskPolicy::main_least_loaded:
    return one_to_one_beside_main(policy, machine_state, places, threads);
  case MaskPolicy::spread:
    return spread(places, threads.size());
  case MaskPolicy::compact:
    return compact(places, threads.size());
  case MaskPolicy::llc:
    return by_llc(places, threads.size());
  }
  return std::vector<CpuSet>(threads.size());
}

Policy policy_of(const Plan& plan) {
  return {
      [plan](const MachineState& machine_state, std::span<const ThreadView> threads) {
        std::vector<ThreadPlan> plans;
        for (CpuSet& mask : masks_of(plan.masks, machine_state, threads))
          plans.push_back({std::move(mask), plan.scheduling_class, plan.slice_ns});
        return plans;
      },
      // The observer that decides which threads to keep apart has seen each of them compute.
      {.each_by_itself = plan.masks == MaskPolicy::none, .explicit_masks = plan.masks == MaskPolicy::units}};
}

Policy with_attributes(Policy policy, std::optional<machine::SchedulingClass> scheduling_class,
                       std::optional<std::int64_t> slice_ns) {
  const Policy::Traits traits = policy.traits();
  return {[policy = std::move(policy), scheduling_class, slice_ns](const MachineState& machine_state,
                                                                   std::span<const ThreadView> threads) {
            std::vector<ThreadPlan> plans = policy(machine_state, threads);
            for (ThreadPlan& plan : plans) {
              if (!plan.scheduling_class) plan.scheduling_class = scheduling_class;
              if (!plan.slice_ns) plan.slice_ns = slice_ns;
            }
            return plans;
          },
          traits};
}

Policy with_main_at_first_birth(Policy policy) {
  Policy::Traits traits = policy.traits();
  traits.main_at_first_birth = true;
  return {
      [policy = std::move(policy)](const MachineState& machine_state, std::span<const ThreadView> threads) {
        return policy(machine_state, threads);
      },
      traits};
}

Policy cpu_list_policy(std::vector<CpuSet> lists) {
  return {[lists = std::move(lists)](const MachineState& machine_state, std::span<const ThreadView> threads) {
            std::vector<ThreadPlan> plans;
            for (const ThreadView& thread : threads)
              plans.push_back(
                  {lists[static_cast<std::size_t>(thread.number) % lists.size()] & machine_state.allowed,
                   {},
                   {}});
            return plans;
          },
          {.each_by_itself = true, .explicit_masks = true}};
}

}  // namespace millrace::placement
