#include "millrace/model/contention/arrangements.h"

#include "millrace/model/contention/matching.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace millrace::model {
namespace {

template <class T> void shuffle(std::vector<T>& values, Random& random) {
  for (std::size_t i = values.size(); i > 1; --i)
    std::swap(values[i - 1], values[random.below(i)]);
}

// One PU for each thread. All PUs are used equally often, except that random ones are used once more.
std::vector<int> places(const SharedMachine& machine, std::size_t threads, Random& random) {
  std::vector<int> all;
  while (all.size() < threads) {
    std::vector<int> round(static_cast<std::size_t>(machine.pus));
    std::iota(round.begin(), round.end(), 0);
    shuffle(round, random);
    all.insert(all.end(), round.begin(), round.end());
  }
  all.resize(threads);
  return all;
}

double floating_point(const ContendingThread& thread) {
  return thread.busy * (thread.demand[SharedUnit::fp] + thread.demand[SharedUnit::simd]);
}

// Every PU once, group after group; those outside all groups come last.
std::vector<int> group_after_group(const SharedMachine& machine) {
  std::vector<int> order;
  if (!machine.levels.empty())
    for (const auto& group : machine.levels.front().groups)
      order.insert(order.end(), group.begin(), group.end());
  for (int pu = 0; pu < machine.pus; ++pu)
    if (std::ranges::find(order, pu) == order.end()) order.push_back(pu);
  return order;
}

const SharingLevel* floating_point_level(const SharedMachine& machine) {
  for (const SharingLevel& level : machine.levels)
    if (level.contention.of(SharedUnit::fp, SharedUnit::fp) > 1) return &level;
  return machine.levels.empty() ? nullptr : &machine.levels.front();
}

// Greedy: places the threads one by one, those that compute most first, each where it costs least among the
// PUs with the fewest threads.
PuOfThread one_by_one(const SharedMachine& machine, std::span<const ContendingThread> threads,
                      PlacementScore& score) {
  std::vector<std::size_t> order(threads.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return threads[i].busy; });
  PuOfThread placement(threads.size(), -1);
  std::vector<int> count(static_cast<std::size_t>(machine.pus));
  for (const std::size_t thread : order) {
    const int fewest = std::ranges::min(count);
    int best = -1;
    double best_score = 0;
    for (int pu = 0; pu < machine.pus; ++pu) {
      if (count[static_cast<std::size_t>(pu)] > fewest) continue;
      placement[thread] = pu;
      if (const double now = score(placement); best < 0 || now > best_score) {
        best = pu;
        best_score = now;
      }
    }
    placement[thread] = best;
    ++count[static_cast<std::size_t>(best)];
  }
  return placement;
}

// Whether threads can be paired: the groups of the narrowest level have two PUs each and cover all PUs.
bool has_pairs(const SharedMachine& machine, std::size_t threads) {
  if (machine.levels.empty() || threads > static_cast<std::size_t>(machine.pus)) return false;
  const auto& groups = machine.levels.front().groups;
  return 2 * groups.size() == static_cast<std::size_t>(machine.pus) &&
         std::ranges::all_of(groups, [](const auto& group) { return group.size() == 2; });
}

// Forms the cheapest pairs, and places them one by one where they cost least.
PuOfThread in_pairs(const SharedMachine& machine, std::span<const ContendingThread> threads,
                    PlacementScore& score) {
  const auto& groups = machine.levels.front().groups;
  // A machine that consists of one such pair of PUs.
  const SharedMachine couple{.pus = 2,
                             .levels = {{.name = "pair",
                                         .groups = {{0, 1}},
                                         .contention = machine.levels.front().contention,
                                         .growth = machine.levels.front().growth}}};
  PlacementScore of_couple(couple, threads);
  PuOfThread placement(threads.size(), -1);
  const auto cost = [&](std::size_t i, std::size_t j) {
    // Indices beyond the threads stand for idle PUs.
    if (i >= threads.size() || j >= threads.size()) return 0.0;
    placement[i] = 0;
    placement[j] = 1;
    const double worth = of_couple(placement);
    placement[i] = placement[j] = -1;
    return -worth;
  };
  std::vector<bool> taken(groups.size());
  for (const auto& [first, second] : cheapest_pairs(2 * groups.size(), cost)) {
    std::size_t best = groups.size();
    double best_score = 0;
    const auto put = [&](std::size_t group) {
      if (first < threads.size()) placement[first] = groups[group][0];
      if (second < threads.size()) placement[second] = groups[group][1];
    };
    if (first >= threads.size() && second >= threads.size()) continue;
    for (std::size_t group = 0; group < groups.size(); ++group) {
      if (taken[group]) continue;
      put(group);
      if (const double now = score(placement); best == groups.size() || now > best_score) {
        best = group;
        best_score = now;
      }
    }
    put(best);
    taken[best] = true;
  }
  return placement;
}

// The groups of each PU on every level, and whether all groups of a level are alike.
struct Structure {
  std::vector<std::vector<int>> group_of;  // by level and PU; -1: none
  bool alike = true;

  Structure(const SharedMachine& machine, bool nodes_differ) {
    for (const SharingLevel& level : machine.levels)
      add(machine.pus, level.groups);
    if (machine.far_handover > 1) add(machine.pus, machine.caches);
    if (machine.remote_memory > 1) add(machine.pus, machine.nodes);
    if (nodes_differ) alike = false;
  }

  void add(int pus, const std::vector<std::vector<int>>& groups) {
    if (groups.empty()) return;
    std::vector<int>& of = group_of.emplace_back(static_cast<std::size_t>(pus), -1);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      alike = alike && groups[g].size() == groups.front().size();
      for (const int pu : groups[g])
        of[static_cast<std::size_t>(pu)] = static_cast<int>(g);
    }
    alike = alike && std::ranges::find(of, -1) == of.end();
  }

  // Whether two free PUs are interchangeable.
  [[nodiscard]] bool as_good(int a, int b, const std::vector<bool>& taken) const {
    const auto in_same = [&](const std::vector<int>& of) {
      const int group = of[static_cast<std::size_t>(a)];
      return group >= 0 && group == of[static_cast<std::size_t>(b)];
    };
    const auto is_empty = [&](const std::vector<int>& of, int pu) {
      for (std::size_t other = 0; other < of.size(); ++other)
        if (taken[other] && of[other] == of[static_cast<std::size_t>(pu)]) return false;
      return true;
    };
    return std::ranges::all_of(group_of, [&](const std::vector<int>& of) {
      return in_same(of) || (alike && is_empty(of, a) && is_empty(of, b));
    });
  }
};

}  // namespace

PuOfThread shuffled(const SharedMachine& machine, std::span<const ContendingThread> threads, Random& random) {
  return places(machine, threads.size(), random);
}

PuOfThread pinned(const SharedMachine& machine, std::span<const ContendingThread> threads, Random& random) {
  std::vector<int> order;
  std::vector<bool> taken(static_cast<std::size_t>(machine.pus));
  const auto take = [&](int pu) {
    if (!taken[static_cast<std::size_t>(pu)]) order.push_back(pu);
    taken[static_cast<std::size_t>(pu)] = true;
  };
  if (!machine.levels.empty()) {
    const auto& groups = machine.levels.front().groups;
    std::size_t widest = 0;
    for (const auto& group : groups)
      widest = std::max(widest, group.size());
    for (std::size_t rank = 0; rank < widest; ++rank)
      for (const auto& group : groups)
        if (rank < group.size()) take(group[rank]);
  }
  for (int pu = 0; pu < machine.pus; ++pu)
    take(pu);
  std::vector<std::size_t> births(threads.size());
  std::iota(births.begin(), births.end(), 0);
  shuffle(births, random);
  PuOfThread placement(threads.size());
  for (std::size_t i = 0; i < births.size(); ++i)
    placement[births[i]] = order[i % order.size()];
  return placement;
}

PuOfThread stacked(const SharedMachine& machine, std::span<const ContendingThread> threads) {
  std::vector<std::size_t> order(threads.size());
  std::iota(order.begin(), order.end(), 0);
  const auto wants_most = [&](std::size_t i) {
    return std::ranges::max(all_shared_units, {}, [&](SharedUnit unit) { return threads[i].demand[unit]; });
  };
  std::ranges::stable_sort(order, {}, wants_most);
  const std::vector<int> pus = group_after_group(machine);
  // Neighbours in the order become neighbours on the machine, even if several share a PU.
  PuOfThread placement(threads.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const std::size_t place = threads.size() <= pus.size() ? rank : rank * pus.size() / threads.size();
    placement[order[rank]] = pus[place];
  }
  return placement;
}

PuOfThread by_workover(const SharedMachine& machine, std::span<const ContendingThread> threads,
                       Random& random) {
  std::vector<std::size_t> order(threads.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](std::size_t i) { return floating_point(threads[i]); });
  PuOfThread placement(threads.size(), -1);
  std::vector<bool> taken(static_cast<std::size_t>(machine.pus));
  std::size_t next = 0;
  if (const SharingLevel* const level = floating_point_level(machine); level != nullptr) {
    for (const std::size_t rank : {0, 1})
      for (const auto& group : level->groups) {
        if (next == order.size() || rank >= group.size()) continue;
        placement[order[next++]] = group[rank];
        taken[static_cast<std::size_t>(group[rank])] = true;
      }
  }
  std::vector<int> free;
  for (int pu = 0; pu < machine.pus; ++pu)
    if (!taken[static_cast<std::size_t>(pu)]) free.push_back(pu);
  shuffle(free, random);
  // Threads that exceed the free PUs share PUs with others.
  const std::size_t left = order.size() - next;
  if (left > free.size()) {
    const std::vector<int> more = places(machine, left - free.size(), random);
    free.insert(free.end(), more.begin(), more.end());
  }
  for (std::size_t i = 0; i < left; ++i)
    placement[order[next + i]] = free[i];
  return placement;
}

namespace {

PuOfThread improved(const SharedMachine& machine, PlacementScore& score, PuOfThread placement) {
  constexpr double worth_a_step = 1e-9;  // smaller gains are rounding errors
  std::vector<int> count(static_cast<std::size_t>(machine.pus));
  for (const int pu : placement)
    ++count[static_cast<std::size_t>(pu)];
  double now = score(placement);
  // Keeps a change that improves the score and reverts any other.
  const auto gains = [&] {
    const double then = score(placement);
    if (then <= now + worth_a_step) return false;
    now = then;
    return true;
  };
  const auto move = [&](std::size_t thread, int pu) {
    const int before = std::exchange(placement[thread], pu);
    if (!gains()) {
      placement[thread] = before;
      return false;
    }
    --count[static_cast<std::size_t>(before)];
    ++count[static_cast<std::size_t>(pu)];
    return true;
  };
  const auto exchange = [&](std::size_t a, std::size_t b) {
    std::swap(placement[a], placement[b]);
    if (gains()) return true;
    std::swap(placement[a], placement[b]);
    return false;
  };
  const auto exchange_groups = [&](const std::vector<int>& a, const std::vector<int>& b) {
    const PuOfThread before = placement;
    for (int& pu : placement)
      if (const auto in_a = std::ranges::find(a, pu); in_a != a.end())
        pu = b[static_cast<std::size_t>(in_a - a.begin())];
      else if (const auto in_b = std::ranges::find(b, pu); in_b != b.end())
        pu = a[static_cast<std::size_t>(in_b - b.begin())];
    if (gains()) {
      for (std::size_t i = 0; i < a.size(); ++i)
        std::swap(count[static_cast<std::size_t>(a[i])], count[static_cast<std::size_t>(b[i])]);
      return true;
    }
    placement = before;
    return false;
  };
  // Exchanging whole groups matters only if there are wider ones too.
  const bool wider = machine.levels.size() > 1 || machine.remote_memory > 1 || machine.far_handover > 1;
  for (bool better = true; better;) {
    better = false;
    for (std::size_t i = 0; i < placement.size(); ++i) {
      for (int pu = 0; pu < machine.pus; ++pu)
        // Only to a PU with fewer threads, not counting this one: never two on one PU while another is idle.
        if (count[static_cast<std::size_t>(pu)] < count[static_cast<std::size_t>(placement[i])])
          better |= move(i, pu);
      for (std::size_t j = i + 1; j < placement.size(); ++j)
        if (placement[i] != placement[j]) better |= exchange(i, j);
    }
    if (!wider || machine.levels.empty()) continue;
    const auto& groups = machine.levels.front().groups;
    for (std::size_t a = 0; a < groups.size(); ++a)
      for (std::size_t b = a + 1; b < groups.size(); ++b)
        if (groups[a].size() == groups[b].size()) better |= exchange_groups(groups[a], groups[b]);
  }
  return placement;
}

}  // namespace

PuOfThread arranged(const SharedMachine& machine, std::span<const ContendingThread> threads,
                    const std::optional<PuOfThread>& start) {
  PlacementScore score(machine, threads);
  if (start) return improved(machine, score, *start);
  PuOfThread placement = improved(machine, score, one_by_one(machine, threads, score));
  if (!has_pairs(machine, threads.size())) return placement;
  PuOfThread other = improved(machine, score, in_pairs(machine, threads, score));
  return score(other) > score(placement) ? other : placement;
}

std::optional<PuOfThread> best_of_all(const SharedMachine& machine,
                                      std::span<const ContendingThread> threads) {
  constexpr double most = 2e6;
  constexpr std::size_t few = 8;
  const auto pus = static_cast<std::size_t>(machine.pus);
  if (threads.size() > pus) return std::nullopt;
  double placements = 1;
  for (std::size_t i = 0; i < threads.size(); ++i)
    placements *= static_cast<double>(pus - i);
  const bool nodes_differ =
      std::ranges::any_of(threads, [](const ContendingThread& thread) { return !thread.pages.empty(); });
  const Structure structure(machine, nodes_differ && machine.remote_memory > 1);
  if (placements > most && (threads.size() > few || !structure.alike)) return std::nullopt;

  PlacementScore score(machine, threads);
  PuOfThread placement(threads.size(), -1);
  PuOfThread best;
  double best_score = 0;
  std::vector<bool> taken(pus);
  const auto place = [&](const auto& self, std::size_t thread) -> void {
    if (thread == threads.size()) {
      if (const double now = score(placement); best.empty() || now > best_score) {
        best = placement;
        best_score = now;
      }
      return;
    }
    for (std::size_t pu = 0; pu < pus; ++pu) {
      if (taken[pu]) continue;
      bool as_before = false;
      for (std::size_t before = 0; before < pu && !as_before; ++before)
        as_before =
            !taken[before] && structure.as_good(static_cast<int>(before), static_cast<int>(pu), taken);
      if (as_before) continue;
      taken[pu] = true;
      placement[thread] = static_cast<int>(pu);
      self(self, thread + 1);
      taken[pu] = false;
    }
    placement[thread] = -1;
  };
  place(place, 0);
  return best;
}

}  // namespace millrace::model
