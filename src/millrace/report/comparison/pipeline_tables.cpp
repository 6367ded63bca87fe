#include "millrace/report/comparison/pipeline_comparisons.h"
#include "millrace/report/comparison/pipeline_settings.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace millrace::report::pipelines {

Result<Comparison> table1(const PipelineObservations& observed, const ObservedProgram& program) {
  Comparison result{
      .paper = "With a core for each thread the speed-up of ferret is 11.3 with 66 threads and the "
               "efficiency at most 27 %; "
               "the same threads on c cores reach 8.9 on 16 and keep over 97 % on up to 4. It concludes that "
               "oversubscribed "
               "pools use cores better.",
      .about = fmt::format(
          "millrace-similar query, six stages, queues of {}, c threads in each of the {} parallel stages. "
          "Oversubscribed runs are bound to c CPUs and measured for as many as there are; what needs more is "
          "simulated, oversubscribed threads each staying on one core.",
          paper_queue, program.parallel_stages())};
  LinePlot plot{
      .title = "speed-up", .x_label = "c", .y_label = "times the speed of one thread", .diagonal = true};
  for (const bool own : {true, false}) {
    const auto variant = own ? model::FerretVariant::own_cores : model::FerretVariant::oversubscribed;
    ComparisonTable table{.caption = own ? "A core for each thread" : "c cores",
                          .keys = {"c", "cores", "threads"}};
    add_columns(table, "", Origin::paper);
    if (!own) add_columns(table, "", Origin::measured);
    add_columns(table, "", Origin::simulated);
    if (own) table.columns.push_back({"time, case 1 (closed)", Origin::predicted, "s"});
    LineSeries here{own ? "own cores, simulated" : "oversubscribed, simulated", {}};
    LineSeries at_hand{"oversubscribed, measured", {}};
    LineSeries theirs{own ? "own cores, the paper" : "oversubscribed, the paper", {}};
    for (const int c : all_counts(own ? 1 : observed.pes, 16)) {
      Plan plan = model::make_plan(program.pipeline(), model::Strategy::oversubscribed, c, paper_queue, 0);
      const int threads = plan.threads();
      plan.cores = own ? threads : c;
      plan.sharing = own ? model::CoreSharing::balanced : model::CoreSharing::sticky;
      const auto seconds = program.simulated(program.pipeline(), plan);
      if (!seconds) return std::unexpected(seconds.error());
      ComparisonRow row{.keys = {std::to_string(c), std::to_string(plan.cores), std::to_string(threads)}};
      // The paper's programs have four such stages: 4c + 2 threads.
      const Value paper = paper_seconds(variant, c);
      add_times(row, paper, model::ferret_sequential_seconds, own ? 4 * c + 2 : c);
      if (!own) {
        const Value measured = program.measured(pools_of(StudyProgram::similar, c, c));
        add_times(row, measured, program.sequential(), c);
        add_point(at_hand, c, speed_up(measured, program.sequential()));
      }
      add_times(row, *seconds, program.sequential(), plan.cores);
      if (own) {
        const auto predicted = program.predicted(PaperCase::closed, false, c * program.parallel_stages());
        if (!predicted) return std::unexpected(predicted.error());
        row.values.push_back(*predicted);
      }
      add_point(here, c, speed_up(*seconds, program.sequential()));
      add_point(theirs, c, speed_up(paper, model::ferret_sequential_seconds));
      if (c == 16)
        result.findings.push_back(
            fmt::format("{}, c = 16: {} times the speed of one thread in simulation, {} in the paper.",
                        own ? "With a core for each thread" : "Oversubscribed",
                        text_of(speed_up(*seconds, program.sequential())),
                        text_of(speed_up(paper, model::ferret_sequential_seconds))));
      table.rows.push_back(std::move(row));
    }
    result.tables.push_back(std::move(table));
    plot.series.push_back(std::move(here));
    if (!own) plot.series.push_back(std::move(at_hand));
    plot.series.push_back(std::move(theirs));
  }
  result.findings.push_back(fmt::format("Where they part, the stages explain it: here {}; in ferret rank "
                                        "takes 85 % and reading 8 %, so that reading bounds the "
                                        "speed-up by 12.7, here it is bounded by {:.1f}.",
                                        program.balance(), program.most_speed_up()));
  const Value full = program.measured(pools_of(StudyProgram::similar, observed.pes, observed.pes));
  result.findings.push_back(
      fmt::format("Measured: {} PEs, oversubscribed, reach {} times the speed of one thread.", observed.pes,
                  text_of(speed_up(full, program.sequential()))));
  result.plots.emplace_back(std::move(plot));
  return result;
}

Result<Comparison> table2(const PipelineObservations& observed, const ObservedProgram& similar,
                          const ObservedProgram& dedup) {
  Comparison result{.paper = "Six stages and three take the same time under TBB: 437.7 and 442.9 s on one "
                             "core, 35.9 and 37.0 on 16, where input "
                             "becomes the limit; 5 tokens a thread for ferret, 3 for dedup.",
                    .about = "As many threads as PEs, bound to as many CPUs. Three stages: --readers 1, with "
                             "which all computing is one stage "
                             "(reading then has a thread and names are a stage of their own). Beside tbb "
                             "stands this project's own stealing. "
                             "For dedup the paper has no table."};
  const auto add = [&](const ObservedProgram& program, StudyProgram which, bool three, int tokens) -> Status {
    ComparisonTable table{.caption = which == StudyProgram::dedup ? "dedup, 3 tokens a thread"
                                     : three ? "image search, three stages, 5 tokens a thread"
                                             : "image search, six stages, 5 tokens a thread",
                          .keys = {"PEs"}};
    const bool in_paper = which == StudyProgram::similar;
    const int readers = three ? 1 : 0;
    if (in_paper) add_columns(table, "", Origin::paper);
    add_columns(table, "tbb", Origin::measured);
    add_columns(table, "stealing", Origin::measured);
    add_columns(table, "", Origin::simulated);
    table.columns.push_back({"time, case 3 (stealing)", Origin::predicted, "s"});
    LinePlot plot{.title = table.caption,
                  .x_label = "PEs",
                  .y_label = "times the speed of one thread",
                  .diagonal = true};
    LineSeries simulated{"simulated", {}};
    LineSeries measured{"tbb, measured", {}};
    LineSeries theirs{"the paper", {}};
    const Pipeline pipeline = three ? collapsed(program.pipeline()) : program.pipeline();
    for (const int pes : all_counts(observed.pes, 64)) {
      ComparisonRow row{.keys = {std::to_string(pes)}};
      if (in_paper) {
        const Value paper =
            paper_seconds(three ? model::FerretVariant::stealing_3 : model::FerretVariant::stealing_6, pes);
        add_times(row, paper, model::ferret_sequential_seconds, pes);
        add_point(theirs, pes, speed_up(paper, model::ferret_sequential_seconds));
      }
      for (const char* strategy : {"tbb", "stealing"}) {
        const Value time = program.measured(tasks_of(which, strategy, tokens * pes, pes, readers));
        add_times(row, time, program.sequential(), pes);
        if (strategy == std::string_view("tbb"))
          add_point(measured, pes, speed_up(time, program.sequential()));
      }
      const auto time = program.simulated(
          pipeline, model::make_plan(pipeline, model::Strategy::stealing, pes, 1, tokens * pes));
      if (!time) return std::unexpected(time.error());
      add_times(row, *time, program.sequential(), pes);
      add_point(simulated, pes, speed_up(*time, program.sequential()));
      const auto predicted = program.predicted(PaperCase::stealing, false, pes, tokens * pes);
      if (!predicted) return std::unexpected(predicted.error());
      row.values.push_back(*predicted);
      table.rows.push_back(std::move(row));
    }
    plot.series = {std::move(simulated), std::move(measured)};
    if (in_paper) plot.series.push_back(std::move(theirs));
    result.plots.emplace_back(std::move(plot));
    result.tables.push_back(std::move(table));
    return {};
  };
  if (Status added = add(similar, StudyProgram::similar, false, similar_tokens); !added)
    return std::unexpected(added.error());
  if (Status added = add(similar, StudyProgram::similar, true, similar_tokens); !added)
    return std::unexpected(added.error());
  if (Status added = add(dedup, StudyProgram::dedup, false, dedup_tokens); !added)
    return std::unexpected(added.error());
  const auto measured = [&](int readers) {
    return similar.measured(
        tasks_of(StudyProgram::similar, "tbb", similar_tokens * observed.pes, observed.pes, readers));
  };
  result.findings.push_back(
      fmt::format("On {} PEs six stages take {} s and three {} s under tbb; the paper's differ by 1 to 3 %.",
                  observed.pes, text_of(measured(0)), text_of(measured(1))));
  result.findings.push_back(fmt::format("Here {}; the speed-up is bounded by {:.1f}, that of ferret by 12.7, "
                                        "so the curves bend at other counts.",
                                        similar.balance(), similar.most_speed_up()));
  return result;
}

}  // namespace millrace::report::pipelines
