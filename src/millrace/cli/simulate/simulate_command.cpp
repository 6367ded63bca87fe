#include "millrace/cli/simulate/simulate_command.h"

#include "millrace/base/command_line.h"
#include "millrace/base/in_quotes.h"
#include "millrace/base/print.h"
#include "millrace/base/printable.h"
#include "millrace/cli/model/pipeline_source.h"
#include "millrace/cli/simulate/simulate_cluster_command.h"
#include "millrace/cli/simulate/simulate_placement.h"
#include "millrace/machine/topology/topology.h"
#include "millrace/model/pipeline/duration_text.h"
#include "millrace/model/pipeline/plan.h"
#include "millrace/model/prediction/prediction.h"
#include "millrace/model/simulation/simulation.h"

#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace millrace::cli {
namespace {

struct SimulateOptions {
  std::string pipeline;
  std::string machine;
  std::optional<int> cores;
  std::string strategy = "stealing";
  std::optional<int> tokens;
  std::optional<int> queue;
  model::SimulationOptions simulation;
  bool sticky = false;
  bool json = false;
};

constexpr int most_cores = 1024;

// Threads get a core each: PUs that share execution units count as one.
Result<int> cores_of(const SimulateOptions& options) {
  if (options.cores && !options.machine.empty())
    return usage_error("give either --cores or --machine, not both");
  int cores = options.cores.value_or(0);
  if (!options.cores) {
    const auto topology = options.machine.empty()
                              ? machine::Topology::live()
                              : machine::Topology::from_synthetic({.description = options.machine});
    if (!topology) return std::unexpected(topology.error());
    cores = static_cast<int>(topology->cores().size());
  }
  if (cores < 1 || cores > most_cores) return usage_error("{} cores; simulate 1 to {}", cores, most_cores);
  return cores;
}

nlohmann::json to_json(const model::Pipeline& pipeline, const model::Plan& plan,
                       const model::SimulationResult& result) {
  nlohmann::json stages = nlohmann::json::array();
  for (std::size_t i = 0; i < result.stages.size(); ++i) {
    stages.push_back({{"name", pipeline.stages[i].name},
                      {"items", result.stages[i].items},
                      {"busy_s", result.stages[i].busy_seconds}});
  }
  nlohmann::json pools = nlohmann::json::array();
  for (const model::PoolTotals& pool : result.pools)
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

std::string to_text(const model::Pipeline& pipeline, const model::Plan& plan,
                    const model::SimulationResult& result) {
  std::string text = fmt::format(
      "{} items by {} on {} cores, {} threads: {} ({:.4g} items a second, cores busy {:.1f} %)\n"
      "inside: {:.1f} items on average, {} at most; each for {}\n\n{:<20} {:>12} {:>14} {:>12}\n",
      result.source_items, to_string(plan.strategy), plan.cores, plan.threads(),
      model::seconds_text(result.seconds), static_cast<double>(result.source_items) / result.seconds,
      100 * result.busy_core_seconds / (result.seconds * plan.cores), result.mean_items_inside,
      result.most_items_inside, model::seconds_text(result.sojourn_seconds), "stage", "items", "busy",
      "threads busy");
  for (std::size_t i = 0; i < result.stages.size(); ++i) {
    const model::StageTotals& stage = result.stages[i];
    text += fmt::format("{:<20} {:>12} {:>14} {:>12.2f}\n", printable(pipeline.stages[i].name), stage.items,
                        model::seconds_text(stage.busy_seconds), stage.busy_seconds / result.seconds);
  }
  return text;
}

Status run_simulate(const SimulateOptions& options) {
  if (options.pipeline.empty())
    return usage_error("give stages divided by ';', such as 'load serial 0.5ms; work 4ms', or a .toml file");
  const auto pipeline = pipeline_of(options.pipeline);
  if (!pipeline) return std::unexpected(pipeline.error());
  const auto cores = cores_of(options);
  if (!cores) return std::unexpected(cores.error());
  const auto strategy = model::strategy_of(options.strategy);
  if (!strategy)
    return usage_error("{} is no strategy; use pools, oversubscribed, collapsed or stealing",
                       in_quotes(options.strategy));
  if (options.tokens && *options.tokens < 1)
    return usage_error("{} tokens; give at least 1", *options.tokens);
  const bool steals = *strategy == model::Strategy::stealing;
  const int tokens = options.tokens ? *options.tokens
                     : steals       ? model::sufficient_tokens(*pipeline, *cores)
                                    : 0;
  const int queue = options.queue ? *options.queue
                    : steals      ? 1
                                  : model::sufficient_queue(*pipeline, *strategy, *cores);
  model::Plan plan = model::make_plan(*pipeline, *strategy, *cores, queue, tokens);
  plan.sharing = options.sticky ? model::CoreSharing::sticky : model::CoreSharing::balanced;
  const auto result = model::simulate(*pipeline, plan, options.simulation);
  if (!result) return std::unexpected(result.error());
  if (!(result->seconds > 0))
    return usage_error(
        "no item of {} caused any work, so nothing can be said of their speed; give a stage that every "
        "item visits a time, or more --items",
        result->source_items);
  if (options.json)
    print_out(
        "{}\n",
        to_json(*pipeline, plan, *result).dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  else
    print_out("{}", to_text(*pipeline, plan, *result));
  return {};
}

}  // namespace

void add_simulate_command(CLI::App& app, Action& action) {
  CLI::App* verb =
      app.add_subcommand("simulate", "Simulate a pipeline of stages on a machine that need not be at hand");
  auto options = std::make_shared<SimulateOptions>();
  verb->add_option("pipeline", options->pipeline,
                   "stages divided by ';', or a .toml file, as for millrace model");
  verb->add_option("--machine", options->machine,
                   "hwloc's description, such as 'pack:8 core:128 pu:2' (default: this machine)");
  verb->add_option("--cores", options->cores, "so many cores instead of a machine");
  verb->add_option("--strategy", options->strategy, "pools, oversubscribed, collapsed or stealing");
  verb->add_option("--tokens", options->tokens,
                   "items in flight (default when stealing: as many as suffice)");
  verb->add_option("--queue", options->queue, "items in front of each pool (default: as many as suffice)");
  verb->add_option("--items", options->simulation.items, "items of the run");
  verb->add_option("--seed", options->simulation.seed, "the same seed gives the same run")
      ->check(not_negative());
  verb->add_flag("--sticky", options->sticky, "a scheduler that keeps every thread on one core");
  verb->add_flag("--json", options->json, "as JSON");
  add_simulate_placement(*verb, action);
  add_simulate_cluster(*verb, action);
  verb->callback([&action, verb, options] {
    if (verb->get_subcommands().empty()) action = [options] { return run_simulate(*options); };
  });
}

}  // namespace millrace::cli
