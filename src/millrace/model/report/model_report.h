// The answer of `millrace model`: every strategy on every number of cores, and which to take.
#pragma once

#include "millrace/base/result.h"
#include "millrace/model/pipeline/pipeline.h"
#include "millrace/model/pipeline/plan.h"
#include "millrace/model/prediction/prediction.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace millrace::model {

struct ModelQuestion {
  std::vector<int> cores;  // each from 1 to 1024, at least one
  // Set for the stream runtime on a machine of so many cores, 1 to 1024: `cores` then are its option threads,
  // and plans are those of make_runtime_plan().
  std::optional<int> machine_cores;
  std::vector<Strategy> strategies{all_strategies.begin(), all_strategies.end()};
  // When stealing, and of the stream runtime always; sized for each number of cores when stealing and not
  // given.
  std::optional<int> tokens;
  std::optional<int> queue;  // in front of each pool; sized as well
  std::int64_t items = 100'000;
  CoreSharing sharing = CoreSharing::balanced;
  bool simulate = true;             // else by formulas alone
  std::int64_t simulated = 20'000;  // items of each simulation
  int runs = 3;                     // simulations of each row
  std::uint64_t seed = 1;
};

struct ModelRow {
  int asked = 1;  // of ModelQuestion::cores
  Plan plan;
  Prediction prediction;  // by simulation where asked for
  double speed_up = 0;    // over the sequential time
};

struct ModelReport {
  Pipeline pipeline;
  std::int64_t items = 0;
  double sequential_seconds = 0;
  std::string slowest_serial;  // "" where there is none
  double serial_seconds = 0;   // its time for the whole run: no plan is faster
  bool simulated = false;
  bool of_runtime = false;     // the question was about the stream runtime
  std::vector<ModelRow> rows;  // by strategy, then by cores
  std::size_t recommended = 0;
  std::string why;
};

// Usage error for cores, tokens, queue or items outside their range, or none.
[[nodiscard]] Result<ModelReport> answer(const Pipeline& pipeline, const ModelQuestion& question);

// A table for a terminal, and the recommendation.
[[nodiscard]] std::string to_text(const ModelReport& report);
[[nodiscard]] nlohmann::json to_json(const ModelReport& report);

}  // namespace millrace::model
