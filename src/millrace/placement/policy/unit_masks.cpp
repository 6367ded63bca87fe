#include "millrace/placement/policy/unit_masks.h"

#include "millrace/model/contention/arrangements.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace millrace::placement {
namespace {

using machine::CpuSet;
using machine::SharedUnit;

// Who computes less is in nobody's way.
constexpr double least_busy = 0.1;
constexpr double least_floating_point = 0.05;
constexpr double least_gain = 0.02;

// What is allowed of each group that shares floating-point units.
std::vector<CpuSet> allowed_groups(const machine::Topology& topology, const CpuSet& allowed) {
  std::vector<CpuSet> groups;
  for (const CpuSet& group : topology.fpu_groups())
    if (CpuSet usable = group & allowed; !usable.empty()) groups.push_back(std::move(usable));
  return groups;
}

bool share_anything(const std::vector<CpuSet>& groups) {
  return groups.size() > 1 &&
         std::ranges::any_of(groups, [](const CpuSet& group) { return group.count() > 1; });
}

double floating_point(const UnitThread& thread) {
  return thread.busy * (thread.demand[SharedUnit::fp] + thread.demand[SharedUnit::simd]);
}

// The PUs of `groups`, one after the other, for the model, which numbers them from 0.
struct Modelled {
  model::SharedMachine machine;
  std::vector<CpuSet> group_of_pu;
};

// Like kinds of work beside each other on two PUs of a core, as measured on an SMT processor of today; unlike
// ones hardly disturb each other.
model::ContentionMatrix contention() {
  struct Cost {
    SharedUnit of;
    SharedUnit beside;
    double slowdown;
  };
  using enum SharedUnit;
  model::ContentionMatrix matrix;
  for (const auto& [of, beside, slowdown] :
       {Cost{integer, integer, 1.42}, Cost{fp, fp, 1.87}, Cost{simd, simd, 1.35}, Cost{simd, fp, 1.34},
        Cost{l1, l1, 1.5}, Cost{l1, l2, 2.1}, Cost{l1, llc, 2.1}, Cost{l1, dram, 2.3}, Cost{l2, l2, 2.5},
        Cost{l2, llc, 2.55}, Cost{l2, dram, 3.2}, Cost{llc, l2, 1.45}, Cost{llc, llc, 1.5},
        Cost{llc, dram, 1.8}})
    static_cast<void>(matrix.set(of, beside, slowdown));  // all within its range
  return matrix;
}

Modelled model_of(const std::vector<CpuSet>& groups) {
  Modelled modelled;
  model::SharingLevel level{.name = "group", .groups = {}, .contention = contention()};
  for (const CpuSet& group : groups) {
    auto& pus = level.groups.emplace_back();
    for (int i = 0; i < group.count(); ++i) {
      pus.push_back(modelled.machine.pus++);
      modelled.group_of_pu.push_back(group);
    }
  }
  modelled.machine.levels.push_back(std::move(level));
  return modelled;
}

// Where `before` has them, if it has them all and no two on one PU.
std::optional<model::PuOfThread> as_before(const Modelled& modelled, std::span<const UnitThread> threads,
                                           const UnitMasks& before) {
  model::PuOfThread placement;
  std::vector<bool> taken(modelled.group_of_pu.size());
  for (const UnitThread& thread : threads) {
    const auto mask = before.find(thread.number);
    if (mask == before.end()) return std::nullopt;
    std::size_t pu = 0;
    while (pu < taken.size() && (taken[pu] || modelled.group_of_pu[pu] != mask->second))
      ++pu;
    if (pu == taken.size()) return std::nullopt;
    taken[pu] = true;
    placement.push_back(static_cast<int>(pu));
  }
  return placement;
}

// What chance does, as the kernel, which knows nothing of units.
double worth_of_chance(const model::SharedMachine& machine,
                       std::span<const model::ContendingThread> threads) {
  constexpr int draws = 64;
  model::Random random(1);
  model::PlacementScore score(machine, threads);
  double sum = 0;
  for (int i = 0; i < draws; ++i)
    sum += score(model::shuffled(machine, threads, random));
  return sum / draws;
}

}  // namespace

UnitMasks workover_masks(const machine::Topology& topology, const CpuSet& allowed,
                         std::span<const UnitThread> threads, const UnitMasks& before) {
  const std::vector<CpuSet> groups = allowed_groups(topology, allowed);
  if (!share_anything(groups)) return {};
  std::vector<const UnitThread*> ranked;
  for (const UnitThread& thread : threads)
    if (floating_point(thread) >= least_floating_point) ranked.push_back(&thread);
  std::ranges::stable_sort(ranked, std::greater<>(),
                           [](const auto* thread) { return floating_point(*thread); });
  UnitMasks masks;
  std::size_t next = 0;
  constexpr int ranks = 2;
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<CpuSet> pus;
    for (const CpuSet& group : groups)
      if (group.count() > rank) pus.push_back(group.first(rank + 1) - group.first(rank));
    const std::size_t end = std::min(ranked.size(), next + pus.size());
    std::vector<int> to_place;
    for (; next < end; ++next) {
      const int number = ranked[next]->number;
      const auto had = before.find(number);
      const auto kept = had == before.end() ? pus.end() : std::ranges::find(pus, had->second);
      if (kept == pus.end()) {
        to_place.push_back(number);
        continue;
      }
      masks.emplace(number, *kept);
      pus.erase(kept);
    }
    for (std::size_t i = 0; i < to_place.size(); ++i)
      masks.emplace(to_place[i], pus[i]);
  }
  return masks;
}

UnitMasks apart_masks(const machine::Topology& topology, const CpuSet& allowed,
                      std::span<const UnitThread> threads, const UnitMasks& before) {
  const std::vector<CpuSet> groups = allowed_groups(topology, allowed);
  std::vector<UnitThread> computing;
  std::ranges::copy_if(threads, std::back_inserter(computing),
                       [](const UnitThread& thread) { return thread.busy >= least_busy; });
  const Modelled modelled = model_of(groups);
  if (!share_anything(groups) || computing.size() < 2 ||
      computing.size() > static_cast<std::size_t>(modelled.machine.pus))
    return {};
  std::vector<model::ContendingThread> contending;
  double busy = 0;
  for (const UnitThread& thread : computing) {
    contending.push_back({.name = {}, .demand = thread.demand, .busy = std::min(thread.busy, 1.0)});
    busy += contending.back().busy;
  }
  const auto kept = as_before(modelled, computing, before);
  model::PuOfThread chosen = model::arranged(modelled.machine, contending);
  model::PlacementScore score(modelled.machine, contending);
  const auto gains = [&](double over) { return std::exp((score(chosen) - over) / busy) >= 1 + least_gain; };
  if (kept && !gains(score(*kept))) chosen = *kept;
  if (!gains(worth_of_chance(modelled.machine, contending))) return {};
  UnitMasks masks;
  for (std::size_t i = 0; i < computing.size(); ++i)
    masks.emplace(computing[i].number, modelled.group_of_pu[static_cast<std::size_t>(chosen[i])]);
  return masks;
}

}  // namespace millrace::placement
