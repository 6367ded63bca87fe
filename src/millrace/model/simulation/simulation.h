// Discrete-event simulation of a pipeline at work: what no formula covers together. Service times of any
// distribution, bounded queues with blocking after service, ordered stages, bypass, 1-to-n stages, batches,
// waiting for devices, more threads than cores, work stealing, cores that slow each other down.
#pragma once

#include "millrace/base/result.h"
#include "millrace/model/pipeline/pipeline.h"
#include "millrace/model/pipeline/plan.h"

#include <cstdint>
#include <vector>

namespace millrace::model {

struct PoolsSetting {
  std::vector<Pool> pools;  // every stage in exactly one, in order; a serial stage alone, with one thread
  int queue = 20;           // items in front of each pool; an ordered stage holds back any number
  int cores = 1;
  CoreSharing sharing = CoreSharing::balanced;
  int tokens = 0;  // items of the source inside at once; 0: as many as the queues take
};

// Every thread carries one item through stage after stage as long as it can, then takes up what it left
// behind, last first, then steals the oldest of another thread.
struct StealingSetting {
  int threads = 1;
  int tokens = 1;  // items of the source inside at once
  int cores = 0;   // that the threads share evenly where there are fewer; 0: one a thread
};

struct SimulationOptions {
  std::int64_t items = 100'000;  // that the source makes, 1 to 10^9
  std::uint64_t seed = 1;
};

struct StageTotals {
  std::int64_t items = 0;  // that it worked on
  // Of threads, at work in it at full speed (slowdown included, waiting for a core not).
  double busy_seconds = 0;
};

struct PoolTotals {
  double blocked_seconds = 0;  // of threads, with a result for a full queue
  double starved_seconds = 0;  // of threads, with nothing to do
};

struct SimulationResult {
  double seconds = 0;  // until the last item has left
  std::int64_t source_items = 0;
  std::int64_t items_out = 0;
  std::vector<StageTotals> stages;
  std::vector<PoolTotals> pools;  // stealing: one, of all threads
  double busy_core_seconds = 0;
  double mean_items_inside = 0;  // average over time, of all items, parts of split ones included
  std::int64_t most_items_inside = 0;
  std::int64_t items_born = 0;  // at the source and by splitting
  double sojourn_seconds = 0;   // mean, from birth until the item left, or was dropped
  // Source items per second between a tenth and nine tenths of the run, without filling and draining.
  double steady_items_per_second = 0;
};

// Stages that split items multiply: more calls than this, some minutes, are refused before a simulation
// begins, and more items inside end it.
inline constexpr double most_simulated_calls = 2e9;
inline constexpr std::int64_t most_simulated_inside = 4'000'000;

// The same seed gives the same result on every machine. Usage error for a setting that does not fit the
// pipeline, and at the bounds above. Time: about 0.2 us for each item and stage; memory: the items inside.
[[nodiscard]] Result<SimulationResult> simulate_pools(const Pipeline& pipeline, const PoolsSetting& setting,
                                                      const SimulationOptions& options);
[[nodiscard]] Result<SimulationResult>
simulate_stealing(const Pipeline& pipeline, const StealingSetting& setting, const SimulationOptions& options);
// By the plan's strategy.
[[nodiscard]] Result<SimulationResult> simulate(const Pipeline& pipeline, const Plan& plan,
                                                const SimulationOptions& options);

}  // namespace millrace::model
