#include "millrace/model/simulation/simulation.h"
#include "millrace/report/comparison/pipeline_comparisons.h"
#include "millrace/report/comparison/pipeline_settings.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace::report::pipelines {

// Figures 2 and 4: working and waiting time of each thread of a stage.
Result<Comparison> breakdown(const PipelineObservations& observed, const ObservedProgram& program,
                             StudyProgram which) {
  const bool similar = which == StudyProgram::similar;
  Comparison result{.paper = similar ? "rank is the bottleneck of ferret; the useful time of the parallel "
                                       "stages falls with c until, between 8 and "
                                       "16, serial input is the bottleneck. The speed-up is at most 11.38."
                                     : "There is a high imbalance of load between the stages of dedup, and "
                                       "the output becomes the bottleneck at "
                                       "c = 4. The speed-up is at most about 5, with 14 threads.",
                    .about = fmt::format("c threads in each parallel stage. Useful time: a thread's share of "
                                         "the stage's work; idle: the rest of the "
                                         "run, waiting for items or room in queues. Simulated with a "
                                         "core for each thread; measured on the {} "
                                         "PEs at hand, where useful time holds what a thread waits for a "
                                         "CPU in the middle of its work.",
                                         observed.pes)};
  ComparisonTable table{.caption = "Seconds of a thread of each stage",
                        .keys = {"c", "stage"},
                        .columns = {{"useful", Origin::simulated, "s"},
                                    {"idle", Origin::simulated, "s"},
                                    {"useful", Origin::measured, "s"},
                                    {"idle", Origin::measured, "s"}}};
  BarPlot plot{.title = "useful part of a thread's time, simulated", .y_label = "%"};
  for (const model::Stage& stage : program.pipeline().stages)
    plot.groups.push_back(stage.name);
  std::vector<std::pair<std::string, std::vector<int>>>
      bottlenecks;  // the stage, and the values of c for which it is the bottleneck
  for (const int c : all_counts(observed.pes, 16)) {
    Plan plan = model::make_plan(program.pipeline(), model::Strategy::oversubscribed, c, paper_queue, 0);
    plan.cores = plan.threads();
    const std::int64_t items = observed.quick ? 500 : 20'000;
    const auto run = model::simulate(program.pipeline(), plan, {.items = items});
    if (!run) return std::unexpected(run.error());
    // Scaled to the number of items measured here.
    const double scale =
        program.sequential() / (model::total_demand(program.pipeline()) * static_cast<double>(items));
    BarSeries bars{fmt::format("c = {}", c), {}};
    const ProgramRuns* here = program.runs(pools_of(which, c, observed.pes));
    double most = 0;
    std::string busiest;
    for (std::size_t i = 0; i < run->stages.size(); ++i) {
      const model::Stage& stage = program.pipeline().stages[i];
      const double useful = run->stages[i].busy_seconds / (stage.is_parallel() ? c : 1);
      ComparisonRow row{.keys = {std::to_string(c), stage.name}};
      row.values = {exactly(scale * useful), exactly(scale * std::max(0.0, run->seconds - useful)),
                    std::nullopt, std::nullopt};
      if (here != nullptr) std::tie(row.values[2], row.values[3]) = useful_and_idle(*here, i);
      if (useful > most) {
        most = useful;
        busiest = stage.name;
      }
      bars.bars.push_back(exactly(100 * useful / run->seconds));
      table.rows.push_back(std::move(row));
    }
    if (bottlenecks.empty() || bottlenecks.back().first != busiest)
      bottlenecks.emplace_back(busiest, std::vector<int>{});
    bottlenecks.back().second.push_back(c);
    if (plot.series.size() < most_colours) plot.series.push_back(std::move(bars));
  }
  result.tables.push_back(std::move(table));
  result.plots.emplace_back(std::move(plot));
  std::string sentence;
  for (const auto& [stage, counts] : bottlenecks)
    sentence += fmt::format("{}those of {} with c = {}", sentence.empty() ? "" : ", ", stage,
                            fmt::join(counts, ", "));
  result.findings.push_back(fmt::format("The busiest threads are, in simulation, {}.", sentence));
  result.findings.push_back(fmt::format(
      "Here {}; so serial stages end the growth at {:.1f} times the speed of one thread, in the paper at {}.",
      program.balance(), program.most_speed_up(), similar ? "12.7" : "about 5"));
  return result;
}

Result<Comparison> fig6b(const PipelineObservations& observed, const ObservedProgram& program) {
  Comparison result{.paper = "The open model (case 2) is an optimistic lower bound of the measured times, "
                             "farthest off from 12 threads on; three stages "
                             "are always faster than five and meet the output's limit sooner.",
                    .about = fmt::format("npTh threads shared evenly by the parallel stages, which are "
                                         "refine, digest and compress; collapsed, those "
                                         "that are neighbours are one (deduplicate, between them, is serial "
                                         "here). Measured on the {} PEs at hand.",
                                         observed.pes)};
  ComparisonTable table{.caption = "Seconds of a run",
                        .keys = {"npTh"},
                        .columns = {{"all stages, case 2 (open)", Origin::predicted, "s"},
                                    {"collapsed, case 2 (open)", Origin::predicted, "s"},
                                    {"all stages", Origin::simulated, "s"},
                                    {"collapsed", Origin::simulated, "s"},
                                    {"all stages", Origin::measured, "s"},
                                    {"collapsed", Origin::measured, "s"}}};
  LinePlot plot{.title = "time of a run", .x_label = "npTh", .y_label = "s"};
  for (const ComparisonColumn& column : table.columns)
    plot.series.push_back({fmt::format("{}, {}", column.name, name_of(column.origin)), {}});
  int lower = 0;
  int compared = 0;
  for (const int threads : all_counts(std::max(observed.pes, 3), 16)) {
    ComparisonRow row{.keys = {std::to_string(threads)}};
    for (const bool merged : {false, true}) {
      const auto time = program.predicted(PaperCase::open, merged, threads);
      if (!time) return std::unexpected(time.error());
      row.values.push_back(*time);
    }
    for (const auto strategy : {model::Strategy::pools, model::Strategy::collapsed}) {
      // As many cores as threads, including those of the serial stages.
      Plan plan =
          model::make_runtime_plan(program.pipeline(), strategy, threads, threads, paper_queue, 1'000'000);
      plan.cores = plan.threads();
      const auto time = program.simulated(program.pipeline(), plan);
      if (!time) return std::unexpected(time.error());
      row.values.push_back(*time);
    }
    ProgramSetting pools = collapsed_of(StudyProgram::dedup, threads, observed.pes);
    pools.strategy = "pools";
    row.values.push_back(program.measured(pools));
    row.values.push_back(program.measured(collapsed_of(StudyProgram::dedup, threads, observed.pes)));
    for (std::size_t i = 0; i < 2; ++i)
      if (row.values[i] && row.values[i + 2]) {
        ++compared;
        if (row.values[i]->mean <= 1.02 * row.values[i + 2]->mean) ++lower;
      }
    for (std::size_t i = 0; i < row.values.size(); ++i)
      add_point(plot.series[i], threads, row.values[i]);
    table.rows.push_back(std::move(row));
  }
  result.findings.push_back(fmt::format(
      "The open model is a lower bound of the simulated time in {} of {} cases: it {} the paper's finding.",
      lower, compared, lower == compared ? "agrees with" : "departs from"));
  result.findings.push_back(fmt::format("Here {}.", program.balance()));
  result.tables.push_back(std::move(table));
  result.plots.emplace_back(std::move(plot));
  return result;
}

Result<Comparison> fig9(const PipelineObservations& observed, const ObservedProgram& program) {
  Comparison result{.paper = "The model of work stealing meets the measured times of ferret under TBB; 20 "
                             "tokens in all leave many threads "
                             "without work, 6 a thread behave as the ideal central queue.",
                    .about = "millrace-similar query, six stages, tbb, 20 tokens in all and 6 a thread; "
                             "measured for as many threads as "
                             "there are PEs, on as many CPUs."};
  ComparisonTable table{.caption = "Seconds of a run", .keys = {"npTh"}};
  for (const char* tokens : {"20 tokens", "6 a thread"}) {
    table.columns.push_back({fmt::format("{}, case 3 (stealing)", tokens), Origin::predicted, "s"});
    table.columns.push_back({fmt::format("{}, Ideal", tokens), Origin::predicted, "s"});
    table.columns.push_back({tokens, Origin::simulated, "s"});
    table.columns.push_back({fmt::format("{}, tbb", tokens), Origin::measured, "s"});
  }
  LinePlot plot{.title = "time of a run", .x_label = "threads", .y_label = "s"};
  for (const ComparisonColumn& column : table.columns)
    if (column.origin != Origin::measured) plot.series.push_back({column.name, {}});
  for (const int threads : all_counts(observed.pes, 64)) {
    ComparisonRow row{.keys = {std::to_string(threads)}};
    for (const int tokens : {20, 6 * threads}) {
      for (const PaperCase which : {PaperCase::stealing, PaperCase::ideal}) {
        const auto time = program.predicted(which, false, threads, tokens);
        if (!time) return std::unexpected(time.error());
        row.values.push_back(*time);
      }
      const auto time = program.simulated(
          program.pipeline(),
          model::make_plan(program.pipeline(), model::Strategy::stealing, threads, 1, tokens));
      if (!time) return std::unexpected(time.error());
      row.values.push_back(*time);
      row.values.push_back(program.measured(tasks_of(StudyProgram::similar, "tbb", tokens, threads)));
    }
    for (std::size_t i = 0, series = 0; i < row.values.size(); ++i)
      if (table.columns[i].origin != Origin::measured)
        add_point(plot.series[series++], threads, row.values[i]);
    if (threads == 64 && row.values[2] && row.values[6]) {
      const double ratio = row.values[2]->mean / row.values[6]->mean;
      result.findings.push_back(fmt::format(
          "With 64 threads, 20 tokens take {:.2f} times as long as 6 a thread in simulation: {}.", ratio,
          ratio > 1.05 ? "too few tokens leave threads without work, as the paper says"
                       : "unlike in the paper few tokens are no limit, as the serial stages are it before"));
    }
    if (threads == 8 && row.values[5] && row.values[6])
      result.findings.push_back(fmt::format(
          "With 8 threads and 6 tokens each the simulation takes {:+.1f} % against the ideal queue.",
          100 * (row.values[6]->mean / row.values[5]->mean - 1)));
    table.rows.push_back(std::move(row));
  }
  result.tables.push_back(std::move(table));
  result.plots.emplace_back(std::move(plot));
  return result;
}

Result<Comparison> fig10b(const PipelineObservations& observed, const ObservedProgram& program) {
  Comparison result{.paper = "dedup with three stages under TBB is up to 63 % faster (8 cores) than "
                             "oversubscribed threads; beyond, the output limits both.",
                    .about = fmt::format("Pools: collapsed, {} threads a core. Stealing: tbb, 3 tokens a "
                                         "thread. Measured as far as there are PEs, bound to "
                                         "them; simulated with threads that stay on their core.",
                                         oversubscription)};
  ComparisonTable table{.caption = "Seconds of a run, and by how much stealing is the faster",
                        .keys = {"PEs"},
                        .columns = {{"improvement", Origin::paper, "%"},
                                    {"pools", Origin::measured, "s"},
                                    {"tbb", Origin::measured, "s"},
                                    {"improvement", Origin::measured, "%"},
                                    {"pools", Origin::simulated, "s"},
                                    {"stealing", Origin::simulated, "s"},
                                    {"improvement", Origin::simulated, "%"}}};
  LinePlot plot{.title = "by how much stealing is faster", .x_label = "PEs", .y_label = "%"};
  plot.series = {{"measured", {}}, {"simulated", {}}, {"the paper", {}}};
  Value best;
  int where = 0;
  for (const int pes : all_counts(observed.pes, 16)) {
    const ProgramSetting pools = collapsed_of(StudyProgram::dedup, oversubscription * pes, pes);
    const ProgramSetting tasks = tasks_of(StudyProgram::dedup, "tbb", dedup_tokens * pes, pes);
    const Value measured_gain = program.measured_gain(pools, tasks);
    Plan plan = model::make_runtime_plan(program.pipeline(), model::Strategy::collapsed,
                                         oversubscription * pes, pes, paper_queue, 1'000'000);
    plan.sharing = model::CoreSharing::sticky;
    const auto simulated_pools = program.simulated(program.pipeline(), plan);
    if (!simulated_pools) return std::unexpected(simulated_pools.error());
    const auto stealing =
        program.simulated(program.pipeline(), model::make_plan(program.pipeline(), model::Strategy::stealing,
                                                               pes, 1, dedup_tokens * pes));
    if (!stealing) return std::unexpected(stealing.error());
    const Value simulated_gain = gain(*simulated_pools, *stealing);
    const Value paper = pes == 8 ? exactly(63) : std::nullopt;
    table.rows.push_back({.keys = {std::to_string(pes)},
                          .values = {paper, program.measured(pools), program.measured(tasks), measured_gain,
                                     *simulated_pools, *stealing, simulated_gain}});
    add_point(plot.series[0], pes, measured_gain);
    add_point(plot.series[1], pes, simulated_gain);
    add_point(plot.series[2], pes, paper);
    if (simulated_gain && (!best || simulated_gain->mean > best->mean)) {
      best = simulated_gain;
      where = pes;
    }
  }
  result.findings.push_back(
      best && best->mean > 0
          ? fmt::format("In simulation stealing gains most on {} PEs, {:+.1f} %; in the paper on 8, +63 %.",
                        where, best->mean)
          : "In simulation stealing gains on no number of PEs, in the paper 63 % on 8: collapsed pools of "
            "items this "
            "large leave nothing to balance.");
  result.findings.push_back(fmt::format("Here {}.", program.balance()));
  result.tables.push_back(std::move(table));
  result.plots.emplace_back(std::move(plot));
  return result;
}

}  // namespace millrace::report::pipelines
