#include "millrace/model/contention/arrangements.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace millrace::model {
namespace {

template <class T> void shuffle(std::vector<T>& values, Random& random) {
  for (std::size_t i = values.size(); i > 1; --i)
    std::swap(values[i - 1], values[random.below(i)]);
}

// As many places as threads, each PU as often as any other, or once more; which ones once more is chance.
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

// Every PU once, group after group; those of no group at the end.
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

// One thread after the other, those that compute most first, each where it costs least among the PUs with
// fewest threads.
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

}  // namespace

PuOfThread shuffled(const SharedMachine& machine, std::span<const ContendingThread> threads, Random& random) {
  return places(machine, threads.size(), random);
}

PuOfThread stacked(const SharedMachine& machine, std::span<const ContendingThread> threads) {
  std::vector<std::size_t> order(threads.size());
  std::iota(order.begin(), order.end(), 0);
  const auto wants_most = [&](std::size_t i) {
    return std::ranges::max(all_shared_units, {}, [&](SharedUnit unit) { return threads[i].demand[unit]; });
  };
  std::ranges::stable_sort(order, {}, wants_most);
  const std::vector<int> pus = group_after_group(machine);
  // Neighbours in the order become neighbours on the machine, also where several share a PU.
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
  // What exceeds the free PUs shares with others.
  const std::size_t left = order.size() - next;
  if (left > free.size()) {
    const std::vector<int> more = places(machine, left - free.size(), random);
    free.insert(free.end(), more.begin(), more.end());
  }
  for (std::size_t i = 0; i < left; ++i)
    placement[order[next + i]] = free[i];
  return placement;
}

PuOfThread arranged(const SharedMachine& machine, std::span<const ContendingThread> threads,
                    const std::optional<PuOfThread>& start) {
  constexpr double worth_a_step = 1e-9;  // less is rounding
  PlacementScore score(machine, threads);
  PuOfThread placement = start ? *start : one_by_one(machine, threads, score);
  std::vector<int> count(static_cast<std::size_t>(machine.pus));
  for (const int pu : placement)
    ++count[static_cast<std::size_t>(pu)];
  double now = score(placement);
  // Keeps a change that gains something, takes back one that does not.
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
  for (bool improved = true; improved;) {
    improved = false;
    for (std::size_t i = 0; i < placement.size(); ++i) {
      for (int pu = 0; pu < machine.pus; ++pu)
        // To a PU with fewer threads, counted without this one: never two on one PU beside an idle one.
        if (count[static_cast<std::size_t>(pu)] < count[static_cast<std::size_t>(placement[i])])
          improved |= move(i, pu);
      for (std::size_t j = i + 1; j < placement.size(); ++j)
        if (placement[i] != placement[j]) improved |= exchange(i, j);
    }
  }
  return placement;
}

std::optional<PuOfThread> best_of_all(const SharedMachine& machine,
                                      std::span<const ContendingThread> threads) {
  constexpr double most = 50e6;
  const auto pus = static_cast<std::size_t>(machine.pus);
  if (threads.size() > pus) return std::nullopt;
  double placements = 1;
  for (std::size_t i = 0; i < threads.size(); ++i)
    placements *= static_cast<double>(pus - i);
  if (placements > most) return std::nullopt;

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
