#include "millrace/model/contention/contention.h"

#include "millrace/base/text/in_quotes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

namespace millrace::model {
namespace {

constexpr std::array in_caches{SharedUnit::l1, SharedUnit::l2, SharedUnit::llc};

// Slowdown minus 1 of `thread` on one of its units, next to a thread that does `other` all the time.
double disturbance_of(const ContentionMatrix& contention, const Demand& thread, const Demand& other,
                      SharedUnit unit) {
  double sum = 0;
  for (const SharedUnit beside : all_shared_units)
    sum += thread[unit] * (contention.of(unit, beside) - 1) * other[beside];
  return sum;
}

std::vector<int> groups_by_pu(int pus, const std::vector<std::vector<int>>& groups) {
  std::vector<int> of(static_cast<std::size_t>(pus), -1);
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const int pu : groups[g])
      of[static_cast<std::size_t>(pu)] = static_cast<int>(g);
  return of;
}

}  // namespace

double disturbance(const ContentionMatrix& contention, const Demand& thread, const Demand& other) {
  double sum = 0;
  for (const SharedUnit unit : all_shared_units)
    sum += disturbance_of(contention, thread, other, unit);
  return sum;
}

double in_memory(const Demand& demand) {
  return demand[SharedUnit::l1] + demand[SharedUnit::l2] + demand[SharedUnit::llc] + demand[SharedUnit::dram];
}

PlacementScore::PlacementScore(const SharedMachine& machine, std::span<const ContendingThread> threads)
    : machine_(machine), threads_(threads), node_of_(groups_by_pu(machine.pus, machine.nodes)),
      cache_of_(groups_by_pu(machine.pus, machine.caches)), by_pu_(threads.size()), present_(threads.size()),
      slowdowns_(threads.size()) {
  for (const SharingLevel& level : machine.levels) {
    std::vector<double>& disturbances = disturbances_.emplace_back();
    std::vector<double>& caches = in_caches_.emplace_back();
    disturbances.reserve(threads.size() * threads.size());
    caches.reserve(threads.size() * threads.size());
    for (const ContendingThread& thread : threads)
      for (const ContendingThread& other : threads) {
        double sum = 0;
        double cached = 0;
        for (const SharedUnit unit : all_shared_units) {
          const double of_unit = disturbance_of(level.contention, thread.demand, other.demand, unit);
          sum += of_unit;
          if (std::ranges::find(in_caches, unit) != in_caches.end()) cached += of_unit;
        }
        disturbances.push_back(sum);
        caches.push_back(cached);
      }
  }
  std::map<int, std::vector<int>> together;
  for (std::size_t i = 0; i < threads.size(); ++i)
    if (threads[i].data >= 0 && threads[i].overlap > 0)
      together[threads[i].data].push_back(static_cast<int>(i));
  for (auto& [data, of] : together)
    if (of.size() > 1) together_.push_back(std::move(of));
}

std::span<const int> PlacementScore::threads_on(int pu) const {
  const auto at = static_cast<std::size_t>(pu);
  return std::span(by_pu_).subspan(static_cast<std::size_t>(first_[at]),
                                   static_cast<std::size_t>(first_[at + 1] - first_[at]));
}

// Sorts threads by PU (counting sort) and sums the demand on each PU.
void PlacementScore::gather(const PuOfThread& placement) {
  const auto pus = static_cast<std::size_t>(machine_.pus);
  asked_.assign(pus, 0);
  first_.assign(pus + 2, 0);
  for (std::size_t i = 0; i < placement.size(); ++i) {
    if (placement[i] < 0) continue;
    const auto pu = static_cast<std::size_t>(placement[i]);
    asked_[pu] += threads_[i].busy;
    ++first_[pu + 2];
  }
  for (std::size_t pu = 0; pu < pus; ++pu)
    first_[pu + 2] += first_[pu + 1];
  // first_[pu + 1] advances to the start of the next PU.
  for (std::size_t i = 0; i < placement.size(); ++i)
    if (placement[i] >= 0) {
      int& next = first_[static_cast<std::size_t>(placement[i]) + 1];
      by_pu_[static_cast<std::size_t>(next++)] = static_cast<int>(i);
    }
}

std::span<const double> PlacementScore::slowdowns(const PuOfThread& placement) {
  gather(placement);
  for (std::size_t i = 0; i < placement.size(); ++i) {
    // An overcommitted PU is shared in proportion.
    slowdowns_[i] = placement[i] < 0 ? 1 : std::max(1.0, asked_[static_cast<std::size_t>(placement[i])]);
    present_[i] = threads_[i].busy / slowdowns_[i];
  }
  for (std::size_t level = 0; level < machine_.levels.size(); ++level)
    slow_down_on(level);
  slow_down_by_distance(placement);
  return slowdowns_;
}

void PlacementScore::slow_down_on(std::size_t level) {
  const bool by_speed = machine_.levels[level].growth == Growth::speed;
  for (const auto& group : machine_.levels[level].groups)
    for (const int pu : group)
      for (const int thread : threads_on(pu)) {
        const auto i = static_cast<std::size_t>(thread);
        const double* const of = &disturbances_[level][i * threads_.size()];
        double more = 0;
        double turns = 1;  // slowdown if the whole group took turns
        for (const int other : group) {
          if (other == pu) continue;  // threads on one PU take turns
          for (const int j : threads_on(other)) {
            const double present = present_[static_cast<std::size_t>(j)];
            more += by_speed ? present * of[j] / (1 + of[j]) : present * of[j];
            turns += present;
          }
        }
        slowdowns_[i] *= by_speed ? 1 / std::max(1 - more, 1 / turns) : 1 + more;
      }
}

void PlacementScore::slow_down_by_distance(const PuOfThread& placement) {
  const auto group_of = [&](const std::vector<int>& groups, std::size_t thread) {
    return placement[thread] < 0 ? -1 : groups[static_cast<std::size_t>(placement[thread])];
  };
  if (machine_.remote_memory > 1)
    for (std::size_t i = 0; i < placement.size(); ++i) {
      const int node = group_of(node_of_, i);
      if (node < 0 || threads_[i].pages.empty()) continue;
      const double near = static_cast<std::size_t>(node) < threads_[i].pages.size()
                              ? threads_[i].pages[static_cast<std::size_t>(node)]
                              : 0;
      slowdowns_[i] *= 1 + in_memory(threads_[i].demand) * (1 - near) * (machine_.remote_memory - 1);
    }
  if (machine_.far_handover > 1)
    for (const std::vector<int>& together : together_)
      for (const int thread : together) {
        const auto i = static_cast<std::size_t>(thread);
        const int cache = group_of(cache_of_, i);
        if (cache < 0) continue;
        int others = 0;
        int far = 0;
        for (const int other : together) {
          const int its = group_of(cache_of_, static_cast<std::size_t>(other));
          if (other == thread || its < 0) continue;
          ++others;
          far += its == cache ? 0 : 1;
        }
        if (others > 0)
          slowdowns_[i] *= 1 + in_memory(threads_[i].demand) * threads_[i].overlap * far / others *
                                   (machine_.far_handover - 1);
      }
}

double PlacementScore::cache_loss() const {
  double sum = 0;
  for (std::size_t level = 0; level < machine_.levels.size(); ++level)
    for (const auto& group : machine_.levels[level].groups)
      for (const int pu : group)
        for (const int thread : threads_on(pu)) {
          const double* const of = &in_caches_[level][static_cast<std::size_t>(thread) * threads_.size()];
          for (const int other : group)
            if (other != pu)
              for (const int j : threads_on(other))
                sum += present_[static_cast<std::size_t>(j)] * of[j];
        }
  return sum / static_cast<double>(threads_.size());
}

double PlacementScore::operator()(const PuOfThread& placement) {
  double sum = 0;
  const std::span<const double> times = slowdowns(placement);
  for (std::size_t i = 0; i < times.size(); ++i)
    sum -= threads_[i].busy * std::log(times[i]);
  return sum;
}

PlacementWorth PlacementScore::worth(const PuOfThread& placement) {
  PlacementWorth worth{.log_throughput = (*this)(placement)};
  for (const double slowdown : slowdowns_)
    worth.speeds.push_back(1 / slowdown);
  const auto [least, greatest] = std::ranges::minmax(worth.speeds);
  worth.fairness = least / greatest;
  worth.mean_speed = std::accumulate(worth.speeds.begin(), worth.speeds.end(), 0.0) /
                     static_cast<double>(worth.speeds.size());
  worth.cache_loss = cache_loss();
  return worth;
}

std::vector<double> slowdowns_of(const SharedMachine& machine, std::span<const ContendingThread> threads,
                                 const PuOfThread& placement) {
  PlacementScore score(machine, threads);
  const std::span<const double> slowdowns = score.slowdowns(placement);
  return {slowdowns.begin(), slowdowns.end()};
}

PlacementWorth worth_of(const SharedMachine& machine, std::span<const ContendingThread> threads,
                        const PuOfThread& placement) {
  return PlacementScore(machine, threads).worth(placement);
}

Status check(std::span<const ContendingThread> threads) {
  constexpr std::size_t most = 4096;
  if (threads.empty() || threads.size() > most)
    return usage_error("{} threads; give 1 to {}", threads.size(), most);
  for (const ContendingThread& thread : threads) {
    if (const Status possible = check(thread.demand); !possible)
      return usage_error("thread {}: {}", in_quotes(thread.name), possible.error().message);
    if (!(thread.busy > 0 && thread.busy <= 1))
      return usage_error("thread {}: busy is {}; give a share of the time above 0, 1 at most",
                         in_quotes(thread.name), thread.busy);
    if (!(thread.overlap >= 0 && thread.overlap <= 1))
      return usage_error("thread {}: overlap is {}; give a share from 0 to 1", in_quotes(thread.name),
                         thread.overlap);
    const bool shares = std::ranges::all_of(thread.pages, [](double page) { return page >= 0 && page <= 1; });
    if (constexpr double tolerance = 0.01;
        !shares || (!thread.pages.empty() &&
                    std::abs(std::accumulate(thread.pages.begin(), thread.pages.end(), 0.0) - 1) > tolerance))
      return usage_error("thread {}: pages are shares by node; give numbers from 0 to 1, 1 in sum",
                         in_quotes(thread.name));
  }
  return {};
}

}  // namespace millrace::model
