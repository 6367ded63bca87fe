// The answer of `millrace simulate`: the simulated run of one plan on a number of cores.
#pragma once

#include "millrace/base/error/result.h"
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
  std::optional<int> tokens;  // in flight; default for stealing: as many as suffice
  std::optional<int> queue;   // in front of each pool; default: as many as suffice
  CoreSharing sharing = CoreSharing::balanced;
  SimulationOptions options;
};

struct SimulationReport {
  Pipeline pipeline;
  Plan plan;
  SimulationResult result;
};

// Returns a usage error if a value is out of range, or if no item caused any work.
[[nodiscard]] Result<SimulationReport> answer(const Pipeline& pipeline, const SimulationQuestion& question);

// A table for a terminal.
[[nodiscard]] std::string to_text(const SimulationReport& report);
[[nodiscard]] nlohmann::json to_json(const SimulationReport& report);

}  // namespace millrace::model
