#include "millrace/placement/units/units_rule.h"

#include "millrace/model/contention/arrangements.h"
#include "millrace/model/contention/contention.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace millrace::placement {
namespace {

using machine::CpuSet;
using model::ContendingThread;
using model::PuOfThread;
using model::SharedMachine;

constexpr double some = 0.02;  // smaller disturbances are ignored

ContendingThread contending(const UnitThread& thread, const SharedMachine& machine) {
  ContendingThread made{.name = {},
                        .demand = thread.demand,
                        .busy = std::clamp(thread.busy, 0.0, 1.0),
                        .pages = {},
                        .data = thread.data,
                        .overlap = thread.overlap};
  if (thread.pages.size() == machine.nodes.size()) made.pages = thread.pages;
  return made;
}

// True if it matters to any thread where this one runs.
bool conflicts(const SharedMachine& machine, const std::vector<ContendingThread>& threads,
               std::size_t thread) {
  const ContendingThread& mine = threads[thread];
  const double memory = model::in_memory(mine.demand);
  if (!mine.pages.empty() && memory * (machine.remote_memory - 1) >= some) return true;
  for (std::size_t j = 0; j < threads.size(); ++j) {
    if (j == thread) continue;
    if (mine.data >= 0 && mine.data == threads[j].data &&
        memory * mine.overlap * (machine.far_handover - 1) >= some)
      return true;
    for (const model::SharingLevel& level : machine.levels)
      if (model::disturbance(level.contention, mine.demand, threads[j].demand) >= some ||
          model::disturbance(level.contention, threads[j].demand, mine.demand) >= some)
        return true;
  }
  return false;
}

// The group of the narrowest level that contains the PU; null: the PU alone.
const std::vector<int>* group_of(const SharedMachine& machine, int pu) {
  if (machine.levels.empty()) return nullptr;
  for (const std::vector<int>& group : machine.levels.front().groups)
    if (std::ranges::find(group, pu) != group.end()) return &group;
  return nullptr;
}

CpuSet mask_of(const UnitsGround& ground, int pu) {
  const std::vector<int>* const group = group_of(ground.machine.machine, pu);
  return group == nullptr ? ground.machine.cpus_of({pu}) : ground.machine.cpus_of(*group);
}

// The present placement: by given masks, or else by the CPU of the last run. Two threads seen on one PU will
// not stay there if another PU of the group or machine is free. Returns nothing if no masks were given and
// the CPUs of the conflicting threads are not known.
std::optional<PuOfThread> present_placement(const UnitsState& before, const UnitsGround& ground,
                                            const std::vector<const UnitThread*>& threads,
                                            const std::vector<bool>& in_conflict) {
  const SharedMachine& machine = ground.machine.machine;
  for (std::size_t i = 0; i < threads.size(); ++i)
    if (before.given.empty() && in_conflict[i] && ground.machine.pu_of(threads[i]->cpu) < 0)
      return std::nullopt;
  PuOfThread placement(threads.size(), -1);
  std::vector<int> count(static_cast<std::size_t>(machine.pus));
  const auto put = [&](std::size_t thread, const std::vector<int>& pus) {
    const int pu =
        *std::ranges::min_element(pus, {}, [&](int p) { return count[static_cast<std::size_t>(p)]; });
    placement[thread] = pu;
    ++count[static_cast<std::size_t>(pu)];
  };
  std::vector<int> all;
  for (int pu = 0; pu < machine.pus; ++pu)
    all.push_back(pu);
  for (std::size_t i = 0; i < threads.size(); ++i) {
    const auto given = before.given.find(threads[i]->id);
    if (given == before.given.end()) continue;
    std::vector<int> pus;
    for (const int cpu : given->second)
      if (const int pu = ground.machine.pu_of(cpu); pu >= 0) pus.push_back(pu);
    if (!pus.empty()) put(i, pus);
  }
  for (std::size_t i = 0; i < threads.size(); ++i) {
    if (placement[i] >= 0) continue;
    const int pu = ground.machine.pu_of(threads[i]->cpu);
    if (pu >= 0 && count[static_cast<std::size_t>(pu)] == 0) put(i, {pu});
  }
  for (std::size_t i = 0; i < threads.size(); ++i) {
    if (placement[i] >= 0) continue;
    const int pu = ground.machine.pu_of(threads[i]->cpu);
    const std::vector<int>* const group = pu < 0 ? nullptr : group_of(machine, pu);
    const bool room = group != nullptr && std::ranges::any_of(*group, [&](int p) {
                        return count[static_cast<std::size_t>(p)] == 0;
                      });
    put(i, room ? *group : all);
  }
  return placement;
}

class Decision {
 public:
  Decision(const UnitsGround& ground, const std::vector<const UnitThread*>& seen,
           const std::vector<ContendingThread>& threads, const UnitsSettings& settings)
      : ground_(ground), seen_(seen), threads_(threads), settings_(settings),
        score_(ground.machine.machine, threads) {}

  // Returns the better of two placements, including the cost of moves: one near the present placement and one
  // chosen from scratch.
  PuOfThread best(const std::optional<PuOfThread>& now) {
    const SharedMachine& machine = ground_.machine.machine;
    PuOfThread fresh = model::arranged(machine, threads_);
    if (!now) return fresh;
    PuOfThread near = model::arranged(machine, threads_, now);
    return worth(fresh, *now) > worth(near, *now) ? fresh : near;
  }

  // Gain of the geometric mean of the speeds, and its standard error. A share estimated from n samples has an
  // error of about 1/sqrt(n).
  std::pair<double, double> gain(const std::optional<PuOfThread>& now, const PuOfThread& then) {
    const std::vector<double> before = now ? log_slowdowns(*now) : by_chance();
    const std::vector<double> after = log_slowdowns(then);
    double sum = 0;
    double squares = 0;
    double busy = 0;
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      const double gained = threads_[i].busy * (before[i] - after[i]);
      sum += gained;
      squares += gained * gained / static_cast<double>(seen_[i]->samples + 1);
      busy += threads_[i].busy;
    }
    return {std::expm1(sum / busy), std::sqrt(squares) / busy};
  }

 private:
  std::vector<double> log_slowdowns(const PuOfThread& placement) {
    std::vector<double> logs;
    for (const double slowdown : score_.slowdowns(placement))
      logs.push_back(std::log(slowdown));
    return logs;
  }

  // Expected slowdowns if the threads' CPUs are not known: those under a kernel that ignores execution units.
  std::vector<double> by_chance() {
    constexpr int draws = 64;
    model::Random random(1);
    std::vector<double> sums(threads_.size());
    for (int draw = 0; draw < draws; ++draw) {
      const std::vector<double> logs =
          log_slowdowns(model::shuffled(ground_.machine.machine, threads_, random));
      for (std::size_t i = 0; i < logs.size(); ++i)
        sums[i] += logs[i] / draws;
    }
    return sums;
  }

  double worth(const PuOfThread& placement, const PuOfThread& now) {
    double moves = 0;
    for (std::size_t i = 0; i < placement.size(); ++i)
      moves += mask_of(ground_, placement[i]) == mask_of(ground_, now[i]) ? 0 : threads_[i].busy;
    return score_(placement) - settings_.cost_of_move * moves;
  }

  const UnitsGround& ground_;
  const std::vector<const UnitThread*>& seen_;
  const std::vector<ContendingThread>& threads_;
  const UnitsSettings& settings_;
  model::PlacementScore score_;
};

// The masks of `state` for these threads.
void give(UnitsStep& step, std::span<const UnitThread> threads) {
  for (std::size_t i = 0; i < threads.size(); ++i)
    if (const auto given = step.state.given.find(threads[i].id); given != step.state.given.end())
      step.masks[i] = given->second;
}

}  // namespace

UnitsGround units_ground(const machine::Topology& topology, const CpuSet& allowed) {
  return {.machine = model::machine_of(topology, allowed),
          .reliable = topology.trust().fpu_groups_reliable()};
}

UnitsGround units_ground(const machine::Topology& topology, const CpuSet& allowed,
                         const std::vector<CpuSet>& measured_groups, bool stable) {
  return {.machine = model::machine_of(topology, allowed, measured_groups), .reliable = stable};
}

UnitsStep by_units(const UnitsState& before, const UnitsGround& ground, std::span<const UnitThread> threads,
                   std::int64_t now_ns, const UnitsSettings& settings) {
  UnitsStep step{.state = {.given = {}, .changed_ns = before.changed_ns},
                 .masks = std::vector<CpuSet>(threads.size()),
                 .reason = {}};
  CpuSet all;
  for (const int cpu : ground.machine.cpus)
    all.insert(cpu);
  // Keeps the masks of threads that still exist.
  for (const UnitThread& thread : threads)
    if (const auto given = before.given.find(thread.id); given != before.given.end())
      step.state.given.insert(*given);
  const auto change = [&](std::map<std::int64_t, CpuSet> given) {
    step.changed = given != step.state.given;
    if (step.changed) step.state.changed_ns = now_ns;
    step.state.given = std::move(given);
  };
  const auto done = [&](std::string reason) {
    give(step, threads);
    step.reason = std::move(reason);
    return step;
  };
  if (!ground.reliable) {
    change({});
    return done("Which PUs share execution units is not sure: no masks by unit.");
  }
  std::vector<const UnitThread*> seen;
  std::vector<ContendingThread> contenders;
  for (const UnitThread& thread : threads) {
    if (thread.samples < settings.least_samples || thread.busy < settings.least_busy) continue;
    if (!thread.allowed.empty() && !thread.allowed.contains_all(all)) continue;
    seen.push_back(&thread);
    contenders.push_back(contending(thread, ground.machine.machine));
  }
  std::vector<bool> in_conflict(contenders.size());
  for (std::size_t i = 0; i < contenders.size(); ++i)
    in_conflict[i] = conflicts(ground.machine.machine, contenders, i);
  const bool dwelling = !before.given.empty() && now_ns - before.changed_ns < settings.dwell_ns;
  if (std::ranges::find(in_conflict, true) == in_conflict.end()) {
    if (!dwelling) change({});
    return done("No two threads want the same.");
  }

  if (contenders.size() > ground.machine.cpus.size()) {
    if (!dwelling) change({});
    return done("More threads compute than there are PUs: to go where one is free is worth more.");
  }

  Decision decision(ground, seen, contenders, settings);
  const std::optional<PuOfThread> now = present_placement(before, ground, seen, in_conflict);
  const PuOfThread then = decision.best(now);
  std::tie(step.gain, step.error) = decision.gain(now, then);
  if (dwelling) return done("Masks were changed less than a moment ago.");
  if (step.gain < std::max(settings.least_gain, settings.standard_errors * step.error))
    return done(fmt::format("Another placement would gain {:.1f} %, which is too little.", 100 * step.gain));
  std::map<std::int64_t, CpuSet> given;
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (in_conflict[i]) given[seen[i]->id] = mask_of(ground, then[i]);
  change(std::move(given));
  return done(
      fmt::format("Threads that want the same are kept apart: {:.1f} % to be gained.", 100 * step.gain));
}

}  // namespace millrace::placement
