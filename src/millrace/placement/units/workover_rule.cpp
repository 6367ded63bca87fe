#include "millrace/placement/units/workover_rule.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <utility>

namespace millrace::placement {
namespace {

using machine::CpuSet;

constexpr double least_active = 0.05;
constexpr double least_usage = 0.01;
constexpr int ranks = 2;

// What the paper's counters measure: on Bulldozer they include integer vectors.
double fpu_usage(const UnitThread& thread) {
  return thread.demand[machine::SharedUnit::fp] + thread.demand[machine::SharedUnit::simd];
}

bool takes_part(const UnitThread& thread, const CpuSet& all) {
  return thread.samples > 0 && thread.busy >= least_active &&
         (thread.allowed.empty() || thread.allowed.contains_all(all));
}

// The PU of this rank in a group; -1 if the group has fewer.
int pu_of_rank(const CpuSet& group, int rank) {
  for (const int cpu : group)
    if (rank-- == 0) return cpu;
  return -1;
}

std::size_t part_of(const WorkoverGround& ground, int cpu) {
  const auto found =
      std::ranges::find_if(ground, [&](const WorkoverPart& part) { return part.cpus.contains(cpu); });
  return static_cast<std::size_t>(found - ground.begin());
}

// If more threads of a cache use floating point than it has groups, moves the one that uses it least to a
// cache with a free group, on the same node if possible. Then neither shares a group.
void balance(std::vector<std::vector<std::size_t>>& parts, const WorkoverGround& ground,
             std::span<const UnitThread> threads) {
  const auto uses = [&](std::size_t i) { return fpu_usage(threads[i]) >= least_usage; };
  const auto free_groups = [&](std::size_t part) {
    return std::ssize(ground[part].groups) - std::ranges::count_if(parts[part], uses);
  };
  for (std::size_t full = 0; full < parts.size(); ++full)
    while (free_groups(full) < 0) {
      const auto worth = [&](std::size_t part) {
        const bool has_room = std::ssize(parts[part]) < ground[part].cpus.count();
        const auto free = has_room ? free_groups(part) : 0;
        return std::pair(free > 0 && ground[part].node == ground[full].node, free);
      };
      std::size_t best = full;
      for (std::size_t part = 0; part < parts.size(); ++part)
        if (worth(part) > worth(best)) best = part;
      if (worth(best).second <= 0) break;
      const auto least = std::ranges::find_if(parts[full].rbegin(), parts[full].rend(), uses);
      parts[best].push_back(*least);
      parts[full].erase(std::next(least).base());
    }
}

// Distributes threads to caches. Each stays where it is pinned or runs. Threads beyond a cache's PUs go to
// the cache with most free PUs, on the same node if there is room.
std::vector<std::vector<std::size_t>> dealt_out(const WorkoverState& before, const WorkoverGround& ground,
                                                std::span<const UnitThread> threads,
                                                const std::vector<std::size_t>& ranked) {
  std::vector<std::vector<std::size_t>> parts(ground.size());
  const auto room = [&](std::size_t part) {
    return ground[part].cpus.count() - static_cast<int>(parts[part].size());
  };
  std::vector<std::pair<std::size_t, int>> homeless;  // thread, and the node it comes from
  for (const std::size_t i : ranked) {
    const auto seat = before.find(threads[i].id);
    const int cpu = seat != before.end() && seat->second.cpu >= 0 ? seat->second.cpu : threads[i].cpu;
    const std::size_t part = part_of(ground, cpu);
    if (part < ground.size() && room(part) > 0)
      parts[part].push_back(i);
    else
      homeless.emplace_back(i, part < ground.size() ? ground[part].node : -1);
  }
  for (const auto& [i, node] : homeless) {
    std::size_t best = 0;
    for (std::size_t part = 1; part < ground.size(); ++part) {
      const auto worth = [&, node = node](std::size_t p) {
        return std::pair(ground[p].node == node && room(p) > 0, room(p));
      };
      if (worth(part) > worth(best)) best = part;
    }
    parts[best].push_back(i);
  }
  // Keeps the order of the ranking, here and afterwards.
  const auto sort = [&] {
    for (auto& part : parts)
      std::ranges::sort(part, {},
                        [&](std::size_t i) { return std::ranges::find(ranked, i) - ranked.begin(); });
  };
  sort();
  balance(parts, ground, threads);
  sort();
  return parts;
}

// Assigns the PUs of one cache.
class Seating {
 public:
  Seating(const WorkoverState& before, const WorkoverPart& part, std::span<const UnitThread> threads)
      : before_(before), part_(part), threads_(threads) {}

  // `ranked`: threads by their use of floating point, highest first. Returns pairs of thread and seat.
  std::vector<std::pair<std::size_t, WorkoverSeat>> seats_of(const std::vector<std::size_t>& ranked) {
    const std::size_t n = part_.groups.size();
    const std::size_t count = std::min(ranked.size(), n * ranks);
    for (std::size_t i = 0; i < count; ++i)
      seats_.emplace_back(ranked[i], next_of(ranked[i], static_cast<int>(i / n)));
    for (auto& [thread, seat] : seats_)
      keep_pu(thread, seat);
    for (auto& [thread, seat] : seats_)
      keep_group(thread, seat);
    for (auto& [thread, seat] : seats_)
      if (seat.cpu < 0) find_pu(seat);
    for (auto& [thread, seat] : seats_)
      if (seat.cpu >= 0) ++seat.history[seat.cpu];
    return std::move(seats_);
  }

 private:
  [[nodiscard]] const WorkoverSeat* before_of(std::size_t thread) const {
    const auto found = before_.find(threads_[thread].id);
    return found == before_.end() ? nullptr : &found->second;
  }

  [[nodiscard]] WorkoverSeat next_of(std::size_t thread, int rank) const {
    const WorkoverSeat* const was = before_of(thread);
    WorkoverSeat seat{.rank = rank};
    if (was == nullptr) return seat;
    seat.history = was->history;
    seat.steps = was->cpu >= 0 ? was->steps + 1 : 0;
    return seat;
  }

  bool take(WorkoverSeat& seat, int cpu) {
    if (cpu < 0 || !part_.cpus.contains(cpu) || taken_.contains(cpu)) return false;
    seat.cpu = cpu;
    taken_.insert(cpu);
    return true;
  }

  // A thread with the same rank as before stays on its PU.
  void keep_pu(std::size_t thread, WorkoverSeat& seat) {
    const WorkoverSeat* const was = before_of(thread);
    if (was != nullptr && was->cpu >= 0 && was->rank == seat.rank) take(seat, was->cpu);
  }

  // A thread that has had either rank for more than a step stays on its group.
  void keep_group(std::size_t thread, WorkoverSeat& seat) {
    const WorkoverSeat* const was = before_of(thread);
    if (seat.cpu >= 0 || was == nullptr || was->cpu < 0 || was->steps < 1) return;
    const auto group =
        std::ranges::find_if(part_.groups, [&](const CpuSet& set) { return set.contains(was->cpu); });
    if (group == part_.groups.end()) return;
    if (take(seat, pu_of_rank(*group, seat.rank))) return;
    if (take(seat, was->cpu)) seat.rank = was->rank;
  }

  // Chooses the PU of its rank that it has had most, else the first free one; if all of its rank are taken,
  // any.
  void find_pu(WorkoverSeat& seat) {
    for (int tried = 0; tried < ranks; ++tried) {
      const int rank = (seat.rank + tried) % ranks;
      std::vector<int> cpus;
      for (const CpuSet& group : part_.groups)
        cpus.push_back(pu_of_rank(group, rank));
      std::ranges::stable_sort(cpus, std::greater<>(), [&](int cpu) {
        const auto found = seat.history.find(cpu);
        return found == seat.history.end() ? 0 : found->second;
      });
      for (const int cpu : cpus)
        if (take(seat, cpu)) return;
    }
  }

  const WorkoverState& before_;
  const WorkoverPart& part_;
  std::span<const UnitThread> threads_;
  std::vector<std::pair<std::size_t, WorkoverSeat>> seats_;
  CpuSet taken_;
};

}  // namespace

WorkoverGround workover_ground(const machine::Topology& topology, const CpuSet& allowed) {
  WorkoverGround ground;
  const auto& nodes = topology.groups_of(machine::SharingDomain::node);
  // If a cache has one group (on POWER7 hwloc shows one L3 per core), there is no choice within it: use the
  // node.
  const auto has_one_group = [&](const CpuSet& cache) {
    return (cache & allowed).empty() || topology.fpu_group_of(cache.lowest()).contains_all(cache);
  };
  const auto& caches = topology.groups_of(machine::SharingDomain::llc);
  for (const CpuSet& cache : std::ranges::all_of(caches, has_one_group) ? nodes : caches) {
    WorkoverPart part{.cpus = cache & allowed, .groups = {}};
    if (part.cpus.empty()) continue;
    const auto node =
        std::ranges::find_if(nodes, [&](const CpuSet& set) { return set.contains(part.cpus.lowest()); });
    part.node = static_cast<int>(node - nodes.begin());
    for (const CpuSet& group : topology.fpu_groups())
      if (CpuSet usable = group & part.cpus; !usable.empty()) part.groups.push_back(std::move(usable));
    ground.push_back(std::move(part));
  }
  return ground;
}

WorkoverStep by_workover(const WorkoverState& before, const WorkoverGround& ground,
                         std::span<const UnitThread> threads) {
  WorkoverStep step{.state = {}, .masks = std::vector<CpuSet>(threads.size())};
  CpuSet all;
  for (const WorkoverPart& part : ground)
    all |= part.cpus;
  std::vector<std::size_t> ranked;
  bool any = false;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    if (const auto was = before.find(threads[i].id); was != before.end()) {
      // Threads that are not pinned keep their history.
      WorkoverSeat& seat = step.state[threads[i].id];
      seat.history = was->second.history;
    }
    if (!takes_part(threads[i], all)) continue;
    ranked.push_back(i);
    any = any || fpu_usage(threads[i]) >= least_usage;
  }
  if (!any || ground.empty()) return step;
  std::ranges::stable_sort(ranked, std::greater<>(), [&](std::size_t i) { return fpu_usage(threads[i]); });
  const auto parts = dealt_out(before, ground, threads, ranked);
  for (std::size_t part = 0; part < ground.size(); ++part)
    for (auto& [thread, seat] : Seating(before, ground[part], threads).seats_of(parts[part])) {
      if (seat.cpu >= 0) step.masks[thread] = {seat.cpu};
      step.state[threads[thread].id] = std::move(seat);
    }
  return step;
}

}  // namespace millrace::placement
