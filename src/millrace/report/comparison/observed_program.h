// ObservedProgram: what the pipeline studies ask of the observations of one program. Internal to these
// studies.
#pragma once

#include "millrace/model/pipeline/plan.h"
#include "millrace/model/report/paper_cases.h"
#include "millrace/model/report/superdome_ferret.h"
#include "millrace/report/comparison/pipeline_studies.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace millrace::report::pipelines {

using model::PaperCase;
using model::Pipeline;
using model::Plan;
using Value = std::optional<PlotValue>;

// All that is asked of one program's observations.
class ObservedProgram {
 public:
  // Both outlive it.
  ObservedProgram(const PipelineObservations& observed, const ServiceTimes& times)
      : observed_(observed), times_(times) {}

  [[nodiscard]] const Pipeline& pipeline() const { return times_.pipeline; }
  [[nodiscard]] double sequential() const { return times_.sequential_seconds; }

  // Seconds of its runs; none where there are none.
  [[nodiscard]] Value measured(const ProgramSetting& setting) const;
  // By how much the runs of `fast` are faster than those of `slow`, in per cent, turn by turn; none where one
  // was run more often than the other.
  [[nodiscard]] Value measured_gain(const ProgramSetting& slow, const ProgramSetting& fast) const;
  [[nodiscard]] const ProgramRuns* runs(const ProgramSetting& setting) const;
  // Seconds of as many items as were measured.
  [[nodiscard]] Result<Value> simulated(const Pipeline& pipeline, const Plan& plan) const;
  // By a model of the paper's. threads: of all parallel stages together.
  [[nodiscard]] Result<Value> predicted(PaperCase which, bool collapsed, int threads,
                                        std::optional<int> tokens = std::nullopt) const;
  [[nodiscard]] int parallel_stages() const;
  // "rank takes 45 % of the work, the slowest serial stage (read) 2.0 %"
  [[nodiscard]] std::string balance() const;
  // What no number of threads can exceed, because of the slowest serial stage.
  [[nodiscard]] double most_speed_up() const;

 private:
  const PipelineObservations& observed_;
  const ServiceTimes& times_;
};

// Neighbouring parallel stages that compute as one; what splits or drops items on the way keeps its share of
// the work.
[[nodiscard]] Pipeline collapsed(const Pipeline& pipeline);

[[nodiscard]] Value exactly(double value);
[[nodiscard]] Value speed_up(const Value& seconds, double sequential);
[[nodiscard]] Value per_cent(const Value& value, double of_whole);
// Of a thread of the stage, means over all runs: how long it works, and how long it does not. Together they
// are the mean time of a run.
[[nodiscard]] std::pair<Value, Value> useful_and_idle(const ProgramRuns& runs, std::size_t stage);
// By how much `fast` is faster than `slow`, in per cent, of what was not measured.
[[nodiscard]] Value gain(const Value& slow, const Value& fast);
// Two digits behind the point, or "no figure".
[[nodiscard]] std::string text_of(const Value& value);

// Time, speed-up and efficiency, as columns and as cells.
void add_columns(ComparisonTable& table, const std::string& what, Origin origin);
void add_times(ComparisonRow& row, const Value& seconds, double sequential, int pes);
void add_point(LineSeries& series, double x, const Value& value);
// What tables 1 and 2 state.
[[nodiscard]] Value paper_seconds(model::FerretVariant variant, int threads);

}  // namespace millrace::report::pipelines
