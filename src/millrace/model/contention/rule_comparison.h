// Compares placement rules on the same threads and machine.
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
  // Means over the draws if the rule is random.
  double mean_speed = 0;
  double least_speed = 0;
  double fairness = 0;
  double cache_loss = 0;            // mean share of a thread's time alone that it loses to others in caches
  double geometric_mean_speed = 0;  // weighted by how busy the threads are; the objective of `units`
  double deviation = 0;        // standard deviation of mean_speed over the draws; 0 if the rule is not random
  std::vector<double> speeds;  // by thread
  std::optional<PuOfThread> placement;  // if the rule is not random
};

struct ComparisonOptions {
  int draws = 1000;  // of random rules; 1 to 1000000
  std::uint64_t seed = 1;
};

// In the order above. "best of all" is included only if best_of_all() finds it. Returns a usage error if the
// machine or the threads are invalid.
[[nodiscard]] Result<std::vector<RuleOutcome>> compare_rules(const SharedMachine& machine,
                                                             std::span<const ContendingThread> threads,
                                                             const ComparisonOptions& options = {});

}  // namespace millrace::model
