#include "millrace/model/contention/rule_comparison.h"

#include "millrace/model/contention/arrangements.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace millrace::model {
namespace {

double total_busy(std::span<const ContendingThread> threads) {
  return std::accumulate(threads.begin(), threads.end(), 0.0,
                         [](double sum, const ContendingThread& thread) { return sum + thread.busy; });
}

RuleOutcome outcome_of(std::string rule, PlacementScore& score, std::span<const ContendingThread> threads,
                       int draws, const std::function<PuOfThread()>& place) {
  RuleOutcome outcome{.rule = std::move(rule), .speeds = std::vector<double>(threads.size())};
  const double busy = total_busy(threads);
  double squares = 0;
  for (int draw = 0; draw < draws; ++draw) {
    PuOfThread placement = place();
    const PlacementWorth worth = score.worth(placement);
    outcome.mean_speed += worth.mean_speed / draws;
    squares += worth.mean_speed * worth.mean_speed / draws;
    outcome.least_speed += std::ranges::min(worth.speeds) / draws;
    outcome.fairness += worth.fairness / draws;
    outcome.cache_loss += worth.cache_loss / draws;
    outcome.geometric_mean_speed += std::exp(worth.log_throughput / busy) / draws;
    for (std::size_t i = 0; i < threads.size(); ++i)
      outcome.speeds[i] += worth.speeds[i] / draws;
    if (draws == 1) outcome.placement = std::move(placement);
  }
  outcome.deviation = std::sqrt(std::max(0.0, squares - outcome.mean_speed * outcome.mean_speed));
  return outcome;
}

}  // namespace

Result<std::vector<RuleOutcome>> compare_rules(const SharedMachine& machine,
                                               std::span<const ContendingThread> threads,
                                               const ComparisonOptions& options) {
  constexpr int most_draws = 1'000'000;
  if (const Status possible = check(machine); !possible) return std::unexpected(possible.error());
  if (const Status possible = check(threads); !possible) return std::unexpected(possible.error());
  if (options.draws < 1 || options.draws > most_draws)
    return usage_error("{} draws; give 1 to {}", options.draws, most_draws);
  Random random(options.seed);
  PlacementScore score(machine, threads);
  std::vector<RuleOutcome> outcomes;
  outcomes.push_back(outcome_of("stacked", score, threads, 1, [&] { return stacked(machine, threads); }));
  outcomes.push_back(
      outcome_of("none", score, threads, options.draws, [&] { return shuffled(machine, threads, random); }));
  outcomes.push_back(outcome_of("pin-only", score, threads, options.draws,
                                [&] { return pinned(machine, threads, random); }));
  outcomes.push_back(outcome_of("workover", score, threads, options.draws,
                                [&] { return by_workover(machine, threads, random); }));
  outcomes.push_back(outcome_of("units", score, threads, 1, [&] { return arranged(machine, threads); }));
  if (const auto best = best_of_all(machine, threads))
    outcomes.push_back(outcome_of("best of all", score, threads, 1, [&] { return *best; }));
  return outcomes;
}

}  // namespace millrace::model
