#include "millrace/model/report/simulation_report.h"

#include "millrace/base/text/printable.h"
#include "millrace/model/pipeline/duration_text.h"
#include "millrace/model/prediction/prediction.h"

#include <cstddef>
#include <functional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace millrace::model {

Result<SimulationReport> answer(const Pipeline& pipeline, const SimulationQuestion& question) {
  constexpr int most_cores = 1024;
  if (question.cores < 1 || question.cores > most_cores)
    return usage_error("{} cores; simulate 1 to {}", question.cores, most_cores);
  if (question.tokens && *question.tokens < 1)
    return usage_error("{} tokens; give at least 1", *question.tokens);
  bool stopped = false;
  const std::function<bool()> stops = [&] {
    return stopped = stopped || (question.options.stops && question.options.stops());
  };
  const bool steals = question.strategy == Strategy::stealing;
  const int tokens = question.tokens ? *question.tokens
                     : steals        ? sufficient_tokens(pipeline, question.cores, stops)
                                     : 0;
  const int queue = question.queue ? *question.queue
                    : steals       ? 1
                                   : sufficient_queue(pipeline, question.strategy, question.cores, stops);
  if (stopped)
    return std::unexpected(Error{ErrorKind::interrupted, "the simulation was interrupted before its end"});
  SimulationReport report{.pipeline = pipeline,
                          .plan = make_plan(pipeline, question.strategy, question.cores, queue, tokens)};
  report.plan.sharing = question.sharing;
  auto result = simulate(pipeline, report.plan, question.options);
  if (!result) return std::unexpected(result.error());
  if (!(result->seconds > 0))
    return usage_error(
        "no item of {} caused any work, so nothing can be said of their speed; give a stage that every "
        "item visits a time, or more items",
        result->source_items);
  report.result = std::move(*result);
  return report;
}

std::string to_text(const SimulationReport& report) {
  const auto& [pipeline, plan, result] = report;
  std::string text =
      fmt::format("{} items by {} on {} cores, {} threads: {} ({:.4g} items a second, cores busy {:.1f} %)\n"
                  "inside: {:.1f} items on average, {} at most; each for {}\n\n{:<20} {:>12} {:>14} {:>12}\n",
                  result.source_items, to_string(plan.strategy), plan.cores, plan.threads(),
                  seconds_text(result.seconds), static_cast<double>(result.source_items) / result.seconds,
                  100 * result.busy_core_seconds / (result.seconds * plan.cores), result.mean_items_inside,
                  result.most_items_inside, seconds_text(result.sojourn_seconds), "stage", "items", "busy",
                  "threads busy");
  for (std::size_t i = 0; i < result.stages.size(); ++i) {
    const StageTotals& stage = result.stages[i];
    text += fmt::format("{:<20} {:>12} {:>14} {:>12.2f}\n", printable(pipeline.stages[i].name), stage.items,
                        seconds_text(stage.busy_seconds), stage.busy_seconds / result.seconds);
  }
  return text;
}

nlohmann::json to_json(const SimulationReport& report) {
  const auto& [pipeline, plan, result] = report;
  nlohmann::json stages = nlohmann::json::array();
  for (std::size_t i = 0; i < result.stages.size(); ++i) {
    stages.push_back({{"name", pipeline.stages[i].name},
                      {"items", result.stages[i].items},
                      {"busy_s", result.stages[i].busy_seconds}});
  }
  nlohmann::json pools = nlohmann::json::array();
  for (const PoolTotals& pool : result.pools)
    pools.push_back({{"blocked_s", pool.blocked_seconds}, {"starved_s", pool.starved_seconds}});
  return {{"schema", "millrace.simulation"},
          {"version", 1},
          {"strategy", to_string(plan.strategy)},
          {"cores", plan.cores},
          {"threads", plan.threads()},
          {"tokens", plan.tokens},
          {"queue", plan.queue},
          {"seconds", result.seconds},
          {"source_items", result.source_items},
          {"items_out", result.items_out},
          {"items_per_second", static_cast<double>(result.source_items) / result.seconds},
          {"steady_items_per_second", result.steady_items_per_second},
          {"busy_core_seconds", result.busy_core_seconds},
          {"mean_items_inside", result.mean_items_inside},
          {"most_items_inside", result.most_items_inside},
          {"sojourn_s", result.sojourn_seconds},
          {"stages", std::move(stages)},
          {"pools", std::move(pools)}};
}

}  // namespace millrace::model
