// The answer of `millrace model`: every strategy on every number of cores, and a recommendation.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/model/pipeline/pipeline.h"
#include "millrace/model/pipeline/plan.h"
#include "millrace/model/prediction/prediction.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace millrace::model {

struct ModelQuestion {
  std::vector<int> cores;  // each from 1 to 1024, at least one
  // Set for the stream runtime on a machine with that many cores, 1 to 1024. Then `cores` are values of its
  // option `threads`, and plans come from make_runtime_plan().
  std::optional<int> machine_cores;
  std::vector<Strategy> strategies{all_strategies.begin(), all_strategies.end()};
  // Applies to stealing, and always to the stream runtime. If not given, stealing uses sufficient tokens for
  // each number of cores.
  std::optional<int> tokens;
  std::optional<int> queue;  // in front of each pool; sufficient if not given
  std::int64_t items = 100'000;
  CoreSharing sharing = CoreSharing::balanced;
  bool simulate = true;             // otherwise only the formulas are used
  std::int64_t simulated = 20'000;  // items per simulation
  int runs = 3;                     // simulations per row
  std::uint64_t seed = 1;
  std::function<bool()> stops = nullptr;  // see SimulationOptions
};

struct ModelRow {
  int asked = 1;  // one of ModelQuestion::cores
  Plan plan;
  Prediction prediction;  // by simulation if requested
  double speed_up = 0;    // over the sequential time
};

struct ModelReport {
  Pipeline pipeline;
  std::int64_t items = 0;
  double sequential_seconds = 0;
  std::string slowest_serial;  // "" if there is none
  double serial_seconds = 0;   // its time for the whole run: no plan is faster
  bool simulated = false;
  bool of_runtime = false;     // the question was about the stream runtime
  std::vector<ModelRow> rows;  // by strategy, then by cores
  std::size_t recommended = 0;
  std::string why;
};

// Returns a usage error if cores, tokens, queue or items are out of range or missing.
[[nodiscard]] Result<ModelReport> answer(const Pipeline& pipeline, const ModelQuestion& question);

// A table for a terminal, and the recommendation.
[[nodiscard]] std::string to_text(const ModelReport& report);
[[nodiscard]] nlohmann::json to_json(const ModelReport& report);

}  // namespace millrace::model
