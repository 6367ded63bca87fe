// ObservedProgram: evaluates the observations of one program for the pipeline studies. Internal to them.
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

// The evaluations of one program's observations.
class ObservedProgram {
 public:
  // Both arguments must outlive this object.
  ObservedProgram(const PipelineObservations& observed, const ServiceTimes& times)
      : observed_(observed), times_(times) {}

  [[nodiscard]] const Pipeline& pipeline() const { return times_.pipeline; }
  [[nodiscard]] double sequential() const { return times_.sequential_seconds; }

  // Seconds of its runs. Empty if there are none.
  [[nodiscard]] Value measured(const ProgramSetting& setting) const;
  // How much faster the runs of `fast` are than those of `slow`, in per cent, paired by round. Empty if the
  // number of runs differs.
  [[nodiscard]] Value measured_gain(const ProgramSetting& slow, const ProgramSetting& fast) const;
  [[nodiscard]] const ProgramRuns* runs(const ProgramSetting& setting) const;
  // Seconds for the measured number of items.
  [[nodiscard]] Result<Value> simulated(const Pipeline& pipeline, const Plan& plan) const;
  // By one of the paper's models. threads: of all parallel stages together.
  [[nodiscard]] Result<Value> predicted(PaperCase which, bool collapsed, int threads,
                                        std::optional<int> tokens = std::nullopt) const;
  [[nodiscard]] int parallel_stages() const;
  // "rank takes 45 % of the work, the slowest serial stage (read) 2.0 %"
  [[nodiscard]] std::string balance() const;
  // The limit of the slowest serial stage for any number of threads.
  [[nodiscard]] double most_speed_up() const;

 private:
  const PipelineObservations& observed_;
  const ServiceTimes& times_;
};

// Combines adjacent parallel stages into one. Work after a stage that splits or drops items is scaled
// accordingly.
[[nodiscard]] Pipeline collapsed(const Pipeline& pipeline);

[[nodiscard]] Value exactly(double value);
[[nodiscard]] Value speed_up(const Value& seconds, double sequential);
[[nodiscard]] Value per_cent(const Value& value, double of_whole);
// Mean working and idle time of one thread of the stage over all runs. They add up to the mean run time.
[[nodiscard]] std::pair<Value, Value> useful_and_idle(const ProgramRuns& runs, std::size_t stage);
// How much faster `fast` is than `slow`, in per cent, for values that were not measured.
[[nodiscard]] Value gain(const Value& slow, const Value& fast);
// Two decimal places, or "no figure".
[[nodiscard]] std::string text_of(const Value& value);

// Time, speed-up and efficiency, as columns and as cells.
void add_columns(ComparisonTable& table, const std::string& what, Origin origin);
void add_times(ComparisonRow& row, const Value& seconds, double sequential, int pes);
void add_point(LineSeries& series, double x, const Value& value);
// The times of tables 1 and 2.
[[nodiscard]] Value paper_seconds(model::FerretVariant variant, int threads);

}  // namespace millrace::report::pipelines
