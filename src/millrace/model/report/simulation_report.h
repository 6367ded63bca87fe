// The answer of `millrace simulate`: what one plan comes to on a number of cores, item by item.
#pragma once

#include "millrace/base/result.h"
#include "millrace/model/pipeline/pipeline.h"
#include "millrace/model/pipeline/plan.h"
#include "millrace/model/simulation/simulation.h"

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace millrace::model {

struct SimulationQuestion {
  int cores = 1;  // 1 to 1024
  Strategy strategy = Strategy::stealing;
  std::optional<int> tokens;  // in flight; when stealing as many as suffice where not given
  std::optional<int> queue;   // in front of each pool; as many as suffice where not given
  CoreSharing sharing = CoreSharing::balanced;
  SimulationOptions options;
};

struct SimulationReport {
  Pipeline pipeline;
  Plan plan;
  SimulationResult result;
};

// Usage error for what is outside its range, and where no item caused any work.
[[nodiscard]] Result<SimulationReport> answer(const Pipeline& pipeline, const SimulationQuestion& question);

// A table for a terminal.
[[nodiscard]] std::string to_text(const SimulationReport& report);
[[nodiscard]] nlohmann::json to_json(const SimulationReport& report);

}  // namespace millrace::model
