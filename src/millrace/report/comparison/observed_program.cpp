#include "millrace/report/comparison/observed_program.h"

#include "millrace/model/prediction/prediction.h"
#include "millrace/report/comparison/pipeline_settings.h"
#include "millrace/report/comparison/placement_gain.h"
#include "millrace/report/study/mean_interval.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace millrace::report::pipelines {

Value ObservedProgram::measured(const ProgramSetting& setting) const {
  const auto found = observed_.runs.find(setting);
  if (found == observed_.runs.end() || found->second.seconds.empty()) return std::nullopt;
  const MeanInterval mean = mean_interval(found->second.seconds);
  return PlotValue{mean.mean, mean.low, mean.high, mean.known};
}

Value ObservedProgram::measured_gain(const ProgramSetting& slow, const ProgramSetting& fast) const {
  const ProgramRuns* const of_slow = runs(slow);
  const ProgramRuns* const of_fast = runs(fast);
  if (of_slow == nullptr || of_fast == nullptr || of_slow->seconds.empty()) return std::nullopt;
  const auto gain = report::measured_gain(of_slow->seconds, of_fast->seconds);
  return gain ? Value(*gain) : std::nullopt;
}

const ProgramRuns* ObservedProgram::runs(const ProgramSetting& setting) const {
  const auto found = observed_.runs.find(setting);
  return found == observed_.runs.end() ? nullptr : &found->second;
}

// Few items give noisy results. So more are simulated, and the time is scaled to the measured number.
Result<Value> ObservedProgram::simulated(const Pipeline& pipeline, const Plan& plan) const {
  const std::int64_t least = observed_.quick ? 300 : 3000;
  const std::int64_t items = std::max(times_.items, least);
  const std::int64_t most = observed_.quick ? 1000 : 20'000;
  const auto found =
      model::predict_by_simulation(pipeline, plan, items, std::min(items, most), observed_.quick ? 2 : 3, 1);
  if (!found) return std::unexpected(found.error());
  const double scale = static_cast<double>(times_.items) / static_cast<double>(items);
  return Value(
      PlotValue{scale * found->point_seconds, scale * found->low_seconds, scale * found->high_seconds});
}

Result<Value> ObservedProgram::predicted(PaperCase which, bool collapsed, int threads,
                                         std::optional<int> tokens) const {
  const auto rows = model::paper_answer(times_.pipeline, {.cases = {which},
                                                          .threads = {threads},
                                                          .queue = paper_queue,
                                                          .tokens = tokens,
                                                          .items = times_.items});
  if (!rows) return std::unexpected(rows.error());
  // If collapsing changes nothing, there is only one row.
  const double seconds = collapsed ? rows->back().seconds : rows->front().seconds;
  return Value(PlotValue{seconds, seconds, seconds});
}

int ObservedProgram::parallel_stages() const {
  return static_cast<int>(std::ranges::count_if(times_.pipeline.stages, &model::Stage::is_parallel));
}

std::string ObservedProgram::balance() const {
  const auto demand = model::demands(times_.pipeline);
  const double all = model::total_demand(times_.pipeline);
  std::size_t slowest = 0;
  for (std::size_t i = 0; i < demand.size(); ++i)
    if (times_.pipeline.stages[i].is_parallel() &&
        (!times_.pipeline.stages[slowest].is_parallel() || demand[i] > demand[slowest]))
      slowest = i;
  const int serial = model::slowest_serial_stage(times_.pipeline);
  const auto at = static_cast<std::size_t>(std::max(serial, 0));
  return fmt::format("{} takes {:.0f} % of the work, the slowest serial stage ({}) {:.1f} %",
                     times_.pipeline.stages[slowest].name, 100 * demand[slowest] / all,
                     serial < 0 ? "none" : times_.pipeline.stages[at].name,
                     serial < 0 ? 0 : 100 * demand[at] / all);
}

double ObservedProgram::most_speed_up() const {
  const int serial = model::slowest_serial_stage(times_.pipeline);
  if (serial < 0) return 0;
  return model::total_demand(times_.pipeline) /
         model::demands(times_.pipeline)[static_cast<std::size_t>(serial)];
}

// Combines adjacent parallel stages into one. Work after a stage that splits or drops items is scaled
// accordingly.
Pipeline collapsed(const Pipeline& pipeline) {
  Pipeline result;
  const auto demand = model::demands(pipeline);
  for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
    model::Stage stage{.name = pipeline.stages[i].name,
                       .kind = pipeline.stages[i].kind,
                       .service = model::ServiceTime::exponential(std::max(demand[i], 1e-12)),
                       .waits = pipeline.stages[i].waits};
    const bool joins = i > 0 && stage.is_parallel() && !stage.waits && result.stages.back().is_parallel() &&
                       !result.stages.back().waits;
    if (joins)
      result.stages.back() = {
          .name = result.stages.back().name + "+" + stage.name,
          .kind = stage.kind,
          .service = model::ServiceTime::exponential(result.stages.back().service.mean_seconds() +
                                                     stage.service.mean_seconds())};
    else
      result.stages.push_back(std::move(stage));
  }
  return result;
}

Value exactly(double exact) { return PlotValue{exact, exact, exact}; }
Value speed_up(const Value& seconds, double sequential) {
  if (!seconds || !(seconds->mean > 0)) return std::nullopt;
  const auto ratio = [&](double time) { return sequential / std::max(time, 1e-9 * seconds->mean); };
  return PlotValue{ratio(seconds->mean), ratio(seconds->high),
                   ratio(std::max(seconds->low, seconds->mean / 1e3)), seconds->known};
}
Value per_cent(const Value& value, double of_whole) {
  if (!value) return value;
  const double scale = 100 / of_whole;
  return PlotValue{value->mean * scale, value->low * scale, value->high * scale, value->known};
}
std::pair<Value, Value> useful_and_idle(const ProgramRuns& runs, std::size_t stage) {
  if (stage >= runs.stages.size() || runs.seconds.empty()) return {};
  const StageTimes& times = runs.stages[stage];
  if (times.busy_s.size() != runs.seconds.size()) return {};
  std::vector<double> useful;
  std::vector<double> idle;
  for (std::size_t run = 0; run < runs.seconds.size(); ++run) {
    useful.push_back(times.busy_s[run] / times.threads);
    idle.push_back(runs.seconds[run] - useful.back());
  }
  const auto cell = [](const MeanInterval& mean) {
    return Value(PlotValue{mean.mean, std::min(mean.mean, mean.low), mean.high, mean.known});
  };
  return {cell(mean_interval(useful)), cell(mean_interval(idle))};
}
Value gain(const Value& slow, const Value& fast) {
  if (!slow || !fast || !(fast->mean > 0)) return std::nullopt;
  return exactly(100 * (slow->mean / fast->mean - 1));
}

void add_columns(ComparisonTable& table, const std::string& what, Origin origin) {
  const std::string of_what = what.empty() ? "" : ", " + what;
  table.columns.push_back({"time" + of_what, origin, "s"});
  table.columns.push_back({"speed-up" + of_what, origin, ""});
  table.columns.push_back({"efficiency" + of_what, origin, "%"});
}
void add_times(ComparisonRow& row, const Value& seconds, double sequential, int pes) {
  const Value faster = speed_up(seconds, sequential);
  row.values.push_back(seconds);
  row.values.push_back(faster);
  row.values.push_back(per_cent(faster, pes));
}
void add_point(LineSeries& series, double x, const Value& value) {
  if (value) series.points.push_back({x, *value});
}
Value paper_seconds(model::FerretVariant variant, int threads) {
  for (const model::FerretEntry& entry : model::ferret_entries())
    if (entry.variant == variant && entry.threads == threads) return exactly(entry.seconds);
  return std::nullopt;
}

std::string text_of(const Value& value) { return value ? fmt::format("{:.2f}", value->mean) : "no figure"; }

}  // namespace millrace::report::pipelines
