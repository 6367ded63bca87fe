#include "millrace/model/contention/contention.h"

#include "millrace/base/in_quotes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace millrace::model {
namespace {

// How much longer `thread` takes beside one that computes as `other` does all the time, less 1.
double disturbance(const ContentionMatrix& contention, const Demand& thread, const Demand& other) {
  double sum = 0;
  for (const SharedUnit unit : all_shared_units)
    for (const SharedUnit beside : all_shared_units)
      sum += thread[unit] * (contention.of(unit, beside) - 1) * other[beside];
  return sum;
}

}  // namespace

PlacementScore::PlacementScore(const SharedMachine& machine, std::span<const ContendingThread> threads)
    : machine_(machine), threads_(threads), by_pu_(threads.size()), present_(threads.size()),
      slowdowns_(threads.size()) {
  for (const SharingLevel& level : machine.levels) {
    std::vector<double>& disturbances = disturbances_.emplace_back();
    disturbances.reserve(threads.size() * threads.size());
    for (const ContendingThread& thread : threads)
      for (const ContendingThread& other : threads)
        disturbances.push_back(disturbance(level.contention, thread.demand, other.demand));
  }
}

std::span<const int> PlacementScore::threads_on(int pu) const {
  const auto at = static_cast<std::size_t>(pu);
  return std::span(by_pu_).subspan(static_cast<std::size_t>(first_[at]),
                                   static_cast<std::size_t>(first_[at + 1] - first_[at]));
}

// Threads by PU (counting sort), and what is asked of each PU.
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
  // first_[pu + 1] goes up to where the next PU begins.
  for (std::size_t i = 0; i < placement.size(); ++i)
    if (placement[i] >= 0) {
      int& next = first_[static_cast<std::size_t>(placement[i]) + 1];
      by_pu_[static_cast<std::size_t>(next++)] = static_cast<int>(i);
    }
}

std::span<const double> PlacementScore::slowdowns(const PuOfThread& placement) {
  gather(placement);
  for (std::size_t i = 0; i < placement.size(); ++i) {
    // A PU that more is asked of than it has is divided by what is asked.
    slowdowns_[i] = placement[i] < 0 ? 1 : std::max(1.0, asked_[static_cast<std::size_t>(placement[i])]);
    present_[i] = threads_[i].busy / slowdowns_[i];
  }
  for (std::size_t l = 0; l < machine_.levels.size(); ++l) {
    for (const auto& group : machine_.levels[l].groups) {
      for (const int pu : group)
        for (const int thread : threads_on(pu)) {
          const auto i = static_cast<std::size_t>(thread);
          const double* const of = &disturbances_[l][i * threads_.size()];
          double factor = 1;
          for (const int other : group) {
            if (other == pu) continue;  // those on one PU take turns
            for (const int j : threads_on(other))
              factor += present_[static_cast<std::size_t>(j)] * of[j];
          }
          slowdowns_[i] *= factor;
        }
    }
  }
  return slowdowns_;
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
  }
  return {};
}

}  // namespace millrace::model
