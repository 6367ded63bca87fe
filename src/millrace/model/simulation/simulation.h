// Discrete-event simulation of a running pipeline, with effects that no formula covers together: service
// times of any distribution, bounded queues with blocking after service, ordered stages, bypasses, 1-to-n
// stages, batches, waiting for devices, more threads than cores, work stealing, and cores that slow each
// other down.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/model/pipeline/pipeline.h"
#include "millrace/model/pipeline/plan.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace millrace::model {

struct PoolsSetting {
  std::vector<Pool> pools;  // covers every stage once, in order; a serial stage is alone, with one thread
  int queue = 20;           // items in front of each pool; an ordered stage can hold back any number
  int cores = 1;
  CoreSharing sharing = CoreSharing::balanced;
  int tokens = 0;  // source items inside at once; 0: as many as the queues hold
};

// Every thread carries one item through stage after stage as far as possible. Then it takes the item that it
// left behind last, and finally it steals the oldest one of another thread.
struct StealingSetting {
  int threads = 1;
  int tokens = 1;  // source items inside at once
  int cores = 0;   // shared evenly by the threads if there are fewer; 0: one per thread
};

struct SimulationOptions {
  std::int64_t items = 100'000;  // made by the source, 1 to 10^9
  std::uint64_t seed = 1;
  // Asked about once in 10 ms; true ends the simulation with an error of kind `interrupted`. May be empty.
  std::function<bool()> stops = nullptr;
};

struct StageTotals {
  std::int64_t items = 0;  // processed by the stage
  // Thread time at full speed (includes slowdown, excludes waiting for a core).
  double busy_seconds = 0;
};

struct PoolTotals {
  double blocked_seconds = 0;  // thread time with a result that does not fit in a full queue
  double starved_seconds = 0;  // thread time without work
};

struct SimulationResult {
  double seconds = 0;  // until the last item has left
  std::int64_t source_items = 0;
  std::int64_t items_out = 0;
  std::vector<StageTotals> stages;
  std::vector<PoolTotals> pools;  // stealing: a single one for all threads
  double busy_core_seconds = 0;
  double mean_items_inside = 0;  // time average of all items, including the parts of split ones
  std::int64_t most_items_inside = 0;
  std::int64_t items_born = 0;  // by the source and by splitting
  double sojourn_seconds = 0;   // mean, from birth until the item left or was dropped
  // Source items per second between one and nine tenths of the run, so without filling and draining.
  double steady_items_per_second = 0;
};

// Limits for stages that multiply items. More calls than this, which take some minutes, are refused in
// advance. More items inside end the simulation.
inline constexpr double most_simulated_calls = 2e9;
inline constexpr std::int64_t most_simulated_inside = 4'000'000;

// The same seed gives the same result on every machine. Returns a usage error if a setting does not fit the
// pipeline, and at the limits above. Takes about 0.2 us per item and stage, and memory for the items inside.
[[nodiscard]] Result<SimulationResult> simulate_pools(const Pipeline& pipeline, const PoolsSetting& setting,
                                                      const SimulationOptions& options);
[[nodiscard]] Result<SimulationResult>
simulate_stealing(const Pipeline& pipeline, const StealingSetting& setting, const SimulationOptions& options);
// Uses the plan's strategy.
[[nodiscard]] Result<SimulationResult> simulate(const Pipeline& pipeline, const Plan& plan,
                                                const SimulationOptions& options);

}  // namespace millrace::model
