#include "millrace/cli/simulate/simulate_placement.h"

#include "millrace/base/options/json_output.h"
#include "millrace/base/text/print.h"
#include "millrace/cli/model/pipeline_source.h"
#include "millrace/model/contention/placement_report.h"
#include "millrace/model/contention/placement_toml.h"
#include "millrace/model/contention/rule_comparison.h"
#include "millrace/model/contention/workover_figures.h"

#include <memory>
#include <string>

#include <nlohmann/json.hpp>

namespace millrace::cli {
namespace {

struct PlacementOptions {
  std::string file;
  model::ComparisonOptions comparison;
  bool paper = false;
  JsonOutput json;
};

Status simulate_placement(const PlacementOptions& options) {
  if (options.paper) {
    if (!options.file.empty() || options.json.wanted())
      return usage_error("--paper brings its own threads and machines; leave out the other arguments");
    print_out("{}", model::to_text(model::workover_figures(options.comparison.seed)));
    return {};
  }
  if (options.file.empty())
    return usage_error("a .toml file with a machine and its threads is missing; give one, or --paper");
  if (Status apart = options.json.check({{"FILE", options.file}}); !apart) return apart;
  const auto text = read_text_file(options.file);
  if (!text) return std::unexpected(text.error());
  const auto families = machine::UnitFamilies::of_this_user();
  if (!families) return std::unexpected(families.error());
  const auto placed = model::parse_placement_toml(*text, options.file, *families);
  if (!placed) return std::unexpected(placed.error());
  const auto outcomes = model::compare_rules(placed->machine, placed->threads, options.comparison);
  if (!outcomes) return std::unexpected(outcomes.error());
  if (options.json.wanted()) return options.json.write(model::to_json(*placed, *outcomes));
  print_out("{}", model::to_text(*placed, *outcomes));
  return {};
}

}  // namespace

void add_simulate_placement(CLI::App& simulate, Action& action) {
  CLI::App* verb = simulate.add_subcommand(
      "placement", "Compare placements of threads that share execution units and caches");
  auto options = std::make_shared<PlacementOptions>();
  verb->add_option("file", options->file, "A .toml file with [machine], [[level]] and [[thread]]");
  verb->add_option("--draws", options->comparison.draws,
                   "Random draws for rules that leave choices to chance");
  verb->add_option("--seed", options->comparison.seed,
                   "Seed of the draws; the same seed gives the same result")
      ->check(not_negative());
  verb->add_flag("--paper", options->paper,
                 "Compare predictions with the measurements of the WorkOver paper");
  add_json_output(*verb, options->json);
  verb->footer("# Repeat the figures of the WorkOver paper\nmillrace simulate placement --paper");
  verb->callback([&action, options] {
    if (!options->paper) options->json.give_back(options->file);
    action = [options] { return simulate_placement(*options); };
  });
}

}  // namespace millrace::cli
