// Figure 11: the image search with parallel input.
#include "millrace/report/comparison/pipeline_comparisons.h"
#include "millrace/report/comparison/pipeline_settings.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace millrace::report::pipelines {
namespace {

// Figures from the paper's text; its plots are not labelled with values.
constexpr int paper_readers = 4;
constexpr double paper_speed_up = 2;
constexpr double paper_gain = 69;

// Four stages with `workers` workers, each on a core of its own.
class SimulatedInput {
 public:
  SimulatedInput(const ObservedProgram& program, int workers) : program_(program), workers_(workers) {}

  // `readers` threads read and the workers compute, each group on its own cores.
  [[nodiscard]] Result<Value> pools(int readers) const {
    Plan plan =
        model::make_plan(program_.pipeline(), model::Strategy::oversubscribed, workers_, paper_queue, 0);
    for (model::Pool& pool : plan.pools)
      if (pool.first_stage == 1) pool.threads = readers;
    plan.cores = plan.threads();
    return program_.simulated(program_.pipeline(), plan);
  }
  // Any worker reads, as under TBB, so the number of readers cannot be chosen.
  [[nodiscard]] Result<Value> stealing() const {
    return program_.simulated(program_.pipeline(),
                              model::make_plan(program_.pipeline(), model::Strategy::stealing, workers_, 1,
                                               similar_tokens * workers_));
  }

 private:
  const ObservedProgram& program_;
  int workers_;
};

void take_greater(Value& most, const Value& value) {
  if (value && (!most || value->mean > most->mean)) most = value;
}
void take_smaller(Value& least, const Value& value) {
  if (value && (!least || value->mean < least->mean)) least = value;
}

}  // namespace

Result<Comparison> fig11(const PipelineObservations& observed, const ObservedProgram& program) {
  Comparison result{
      .paper = "With 64 workers, four threads that read make ferret twice as fast as one; more contend for "
               "the disks. With four stages TBB is up "
               "to 69 % faster than pools.",
      .about = fmt::format("millrace-similar query --readers t: names, t threads that read, all computing in "
                           "one stage, output. The files are "
                           "dropped from the page cache before each run. Measured with {} workers on {} PEs; "
                           "simulated with {} workers, each on a "
                           "core, where readers wait for their device and do not slow each other down; "
                           "stealing is simulated as under TBB, where any worker reads, whatever t is.",
                           observed.pes, observed.pes, fig11_workers)};
  ComparisonTable table{.caption = "Against the number of threads that read",
                        .keys = {"t"},
                        .columns = {{"speed-up over t = 1", Origin::paper, ""},
                                    {"pools", Origin::measured, "s"},
                                    {"stealing", Origin::measured, "s"},
                                    {"improvement of stealing", Origin::measured, "%"},
                                    {"pools, 64 workers", Origin::simulated, "s"},
                                    {"speed-up over t = 1", Origin::simulated, ""},
                                    {"stealing, 64 workers", Origin::simulated, "s"},
                                    {"improvement of stealing", Origin::simulated, "%"}}};
  const std::string measured_name = fmt::format("{} workers, measured", observed.pes);
  const std::string simulated_name = fmt::format("{} workers, simulated", fig11_workers);
  LinePlot speed_ups{.title = "speed-up over one reader", .x_label = "threads that read", .y_label = "times"};
  speed_ups.series = {{simulated_name, {}}, {measured_name, {}}};
  LinePlot gains{.title = "by how much stealing is faster", .x_label = "threads that read", .y_label = "%"};
  gains.series = {{simulated_name, {}}, {measured_name, {}}};
  const Pipeline& pipeline = program.pipeline();
  if (pipeline.stages.size() != 4) return failure("the image search with parallel input has not four stages");
  const SimulatedInput simulated(program, fig11_workers);
  const auto stealing = simulated.stealing();
  if (!stealing) return std::unexpected(stealing.error());
  Value first;
  Value first_measured;
  Value most_measured;
  Value most_simulated;
  Value least_simulated;
  for (const int readers : reader_counts) {
    const auto pools = simulated.pools(readers);
    if (!pools) return std::unexpected(pools.error());
    const ProgramSetting of_pools = parallel_input("collapsed", readers, observed.pes, observed.pes);
    const ProgramSetting of_stealing = parallel_input("stealing", readers, observed.pes, observed.pes);
    const Value measured = program.measured(of_pools);
    if (readers == 1) {
      first = *pools;
      first_measured = measured;
    }
    const Value faster = speed_up(*pools, first->mean);
    const Value measured_gain = program.measured_gain(of_pools, of_stealing);
    const Value simulated_gain = gain(*pools, *stealing);
    table.rows.push_back({.keys = {std::to_string(readers)},
                          .values = {readers == paper_readers ? exactly(paper_speed_up) : std::nullopt,
                                     measured, program.measured(of_stealing), measured_gain, *pools, faster,
                                     *stealing, simulated_gain}});
    add_point(speed_ups.series[0], readers, faster);
    if (first_measured) add_point(speed_ups.series[1], readers, speed_up(measured, first_measured->mean));
    add_point(gains.series[0], readers, simulated_gain);
    add_point(gains.series[1], readers, measured_gain);
    take_greater(most_simulated, simulated_gain);
    take_smaller(least_simulated, simulated_gain);
    take_greater(most_measured, measured_gain);
    if (readers == paper_readers)
      result.findings.push_back(fmt::format(
          "Four readers are {} times as fast as one in simulation, 2 times in the paper.", text_of(faster)));
  }
  result.tables.push_back(std::move(table));
  result.tables.push_back(
      {.caption = "The most by which stealing is faster than pools, of all t",
       .keys = {"at most"},
       .columns = {{"improvement, 64 workers", Origin::paper, "%"},
                   {fmt::format("improvement, {} workers", observed.pes), Origin::measured, "%"},
                   {"improvement, 64 workers", Origin::simulated, "%"}},
       .rows = {{.keys = {"of all t"}, .values = {exactly(paper_gain), most_measured, most_simulated}}}});
  result.findings.push_back(fmt::format(
      "Stealing gains {} % at most in simulation, and {} against pools with the t that suits them "
      "best, whose readers have cores of their own; {} % at most measured on {} PEs; up to 69 % "
      "in the paper.",
      text_of(most_simulated), text_of(least_simulated), text_of(most_measured), observed.pes));
  const auto demand = model::demands(pipeline);
  result.findings.push_back(fmt::format(
      "Reading a file takes {:.3f} ms here and computing {:.3f}: with {} workers one reader is {}.",
      1e3 * demand[1], 1e3 * demand[2], fig11_workers,
      demand[1] * fig11_workers > demand[2] ? "the limit, and several help"
                                            : "no limit, so more of them gain nothing"));
  result.plots.emplace_back(std::move(speed_ups));
  result.plots.emplace_back(std::move(gains));
  return result;
}

}  // namespace millrace::report::pipelines
