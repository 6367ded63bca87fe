#include "millrace/cli/simulate/simulate_command.h"

#include "millrace/base/options/json_output.h"
#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/print.h"
#include "millrace/cli/simulate/simulate_cluster_command.h"
#include "millrace/cli/simulate/simulate_placement.h"
#include "millrace/machine/topology/topology.h"
#include "millrace/model/pipeline/load_pipeline.h"
#include "millrace/model/pipeline/plan.h"
#include "millrace/model/report/simulation_report.h"

#include <memory>
#include <optional>
#include <string>

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
  JsonOutput json;
};

// One thread per core: PUs that share execution units count as one.
Result<int> cores_of(const SimulateOptions& options) {
  if (options.cores && !options.machine.empty())
    return usage_error("--cores and --machine exclude each other; leave one out");
  int cores = options.cores.value_or(0);
  if (!options.cores) {
    const auto topology = options.machine.empty()
                              ? machine::Topology::live()
                              : machine::Topology::from_synthetic({.description = options.machine});
    if (!topology) return std::unexpected(topology.error());
    cores = static_cast<int>(topology->cores().size());
  }
  return cores;
}

Status run_simulate(const SimulateOptions& options) {
  if (options.pipeline.empty())
    return usage_error(
        "stages are missing; give them, such as 'load serial 0.5ms; work 4ms', or a .toml file");
  const bool is_file = options.pipeline.ends_with(".toml");
  if (Status apart = options.json.check({{"PIPELINE", is_file ? options.pipeline : ""}}); !apart)
    return apart;
  const auto pipeline = model::load_pipeline(options.pipeline);
  if (!pipeline) return std::unexpected(pipeline.error());
  const auto cores = cores_of(options);
  if (!cores) return std::unexpected(cores.error());
  const auto strategy = model::strategy_of(options.strategy);
  if (!strategy)
    return usage_error("--strategy: unknown value {}; use pools, oversubscribed, collapsed or stealing",
                       in_quotes(options.strategy));
  const auto report = model::answer(
      *pipeline, {.cores = *cores,
                  .strategy = *strategy,
                  .tokens = options.tokens,
                  .queue = options.queue,
                  .sharing = options.sticky ? model::CoreSharing::sticky : model::CoreSharing::balanced,
                  .options = options.simulation});
  if (!report) return std::unexpected(report.error());
  if (options.json.wanted()) return options.json.write(model::to_json(*report));
  print_out("{}", model::to_text(*report));
  return {};
}

}  // namespace

void add_simulate_command(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("simulate", "Simulate a pipeline of stages on any machine");
  verb->group(verb_group::streams);
  add_simulate_placement(*verb, action);
  add_simulate_cluster(*verb, action);
  auto options = std::make_shared<SimulateOptions>();
  verb->add_option("pipeline", options->pipeline,
                   "Stages with their service times, or a .toml file, as for `millrace model`")
      ->option_text("[STAGES]");
  verb->add_option("--machine", options->machine, "Description by hwloc, such as 'pack:8 core:128 pu:2'")
      ->option_text("TEXT")
      ->default_str("this machine");
  verb->add_option("--cores", options->cores, "Number of cores, instead of a machine")
      ->check(between(1, 1 << 20));
  verb->add_option("--strategy", options->strategy, "Strategy of the stream runtime")
      ->option_text("NAME")
      ->check(one_of({"pools", "oversubscribed", "collapsed", "stealing"}))
      ->default_str("stealing");
  verb->add_option("--tokens", options->tokens, "Items in flight, for stealing")
      ->check(between(1, 1 << 30))
      ->default_str("enough for full speed");
  verb->add_option("--queue", options->queue, "Items that wait for each pool")
      ->check(between(1, 1 << 30))
      ->default_str("enough for full speed");
  begin_group(*verb, "Simulation");
  verb->add_option("--items", options->simulation.items, "Items of the run")
      ->check(between(std::int64_t{1}, std::int64_t{1} << 40));
  verb->add_option("--seed", options->simulation.seed,
                   "Seed of the simulation; the same seed gives the same result")
      ->check(not_negative());
  verb->add_flag("--sticky", options->sticky, "Simulate a scheduler that keeps every thread on one core");
  add_json_output(*verb, options->json);
  verb->footer(
      "# Simulate two stages on 64 cores\nmillrace simulate 'load serial 0.5ms; work 4ms' --cores 64");
  verb->callback([&action, verb, options] {
    if (!verb->get_subcommands().empty()) return;
    options->json.give_back(options->pipeline);
    action = [options] { return run_simulate(*options); };
  });
}

}  // namespace millrace::cli
