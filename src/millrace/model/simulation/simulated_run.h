// SimulatedRun: the items, service times and statistics shared by the pools and stealing simulations.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/model/pipeline/random.h"
#include "millrace/model/simulation/item_order.h"
#include "millrace/model/simulation/processors.h"
#include "millrace/model/simulation/replay.h"
#include "millrace/model/simulation/simulation.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace millrace::model {

// Checks the preconditions of every simulation. Returns a usage error if the pipeline is invalid or there are
// too many calls to simulate.
[[nodiscard]] Status check_simulation(const Pipeline& pipeline, const SimulationOptions& options);

// Used by one thread. The pipeline must outlive it.
class SimulatedRun {
 public:
  SimulatedRun(const Pipeline& pipeline, Processors processors, const SimulationOptions& options,
               std::size_t pools);

  Processors processors;
  Random random;
  ItemOrder order;
  SimulationResult result;

  [[nodiscard]] const Stage& stage(int index) const { return stages_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] int stages() const { return static_cast<int>(stages_.size()); }
  [[nodiscard]] bool source_is_dry() const { return result.source_items >= options_.items; }
  // The next item of the source.
  [[nodiscard]] int make_item(int token);
  // Adds a part of a split item directly after it.
  [[nodiscard]] int split_off(int item);
  // The item leaves: dropped inside, or `out` of the last stage.
  void remove(int item, bool out);

  // Whether the arriving item bypasses the stage. Call it once per arrival, and not for the source.
  [[nodiscard]] bool bypasses(int stage, int item);
  // Seconds that the item would take in the stage if it started now, given the currently busy cores. Recorded
  // in the statistics.
  [[nodiscard]] double service(int stage, int item);
  // Number of outputs for an item that the stage has processed.
  [[nodiscard]] int outputs(int stage, int item);
  // Whether more items are inside than can be simulated, including `expected` new ones.
  [[nodiscard]] bool overfull(std::size_t expected = 0) const {
    return order.live() + static_cast<std::int64_t>(expected) > most_simulated_inside;
  }
  [[nodiscard]] std::unexpected<Error> overfull_error() const;
  // Whether the caller wants the simulation to end. Call it after every event.
  [[nodiscard]] bool is_stopped() {
    constexpr std::uint32_t between_questions = 1U << 15;
    return ++events_ % between_questions == 0 && options_.stops && options_.stops();
  }
  [[nodiscard]] static std::unexpected<Error> stopped_error();
  // Completes the statistics after the last event.
  [[nodiscard]] SimulationResult finish();

 private:
  void count_inside();
  void note_progress();

  const std::vector<Stage>& stages_;
  SimulationOptions options_;
  std::optional<Replay> replay_;
  std::uint32_t events_ = 0;
  double counted_until_ = 0;
  double item_seconds_ = 0;  // time integral of the items inside
  double sojourn_total_ = 0;
  double tenth_at_ = -1;  // when the source had made one and nine tenths of its items
  double nine_tenths_at_ = -1;
};

}  // namespace millrace::model
