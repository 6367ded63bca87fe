// What rules of placement reach with the same threads on the same machine.
#pragma once

#include "millrace/model/contention/contention.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace millrace::model {

struct RuleOutcome {
  std::string rule;  // "stacked", "none" (left to the kernel), "pin-only", "workover", "units", "best of all"
  // Means over the draws where the rule leaves something to chance.
  double mean_speed = 0;
  double least_speed = 0;
  double fairness = 0;
  double cache_loss = 0;  // mean time of a thread that it loses to others in caches, over its time alone
  double geometric_mean_speed = 0;  // weighted with how busy threads are: what `units` maximises
  double deviation = 0;  // standard deviation of mean_speed over the draws; 0 where nothing is left to chance
  std::vector<double> speeds;           // of each thread
  std::optional<PuOfThread> placement;  // where nothing is left to chance
};

struct ComparisonOptions {
  int draws = 1000;  // of what is left to chance; 1 to 1000000
  std::uint64_t seed = 1;
};

// In the order above; "best of all" only where it can be had (see best_of_all()). Usage error where the
// machine or the threads are impossible.
[[nodiscard]] Result<std::vector<RuleOutcome>> compare_rules(const SharedMachine& machine,
                                                             std::span<const ContendingThread> threads,
                                                             const ComparisonOptions& options = {});

}  // namespace millrace::model
