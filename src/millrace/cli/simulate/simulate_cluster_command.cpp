#include "millrace/cli/simulate/simulate_cluster_command.h"

#include "millrace/base/options/command_line.h"
#include "millrace/base/options/json_output.h"
#include "millrace/base/text/print.h"
#include "millrace/cli/model/pipeline_source.h"
#include "millrace/model/cluster/cluster_report.h"
#include "millrace/model/cluster/cluster_toml.h"

#include <memory>
#include <string>

#include <nlohmann/json.hpp>

namespace millrace::cli {
namespace {

struct ClusterOptions {
  std::string file;
  std::uint64_t seed = 1;
  JsonOutput json;
};

Status simulate_cluster_file(const ClusterOptions& options) {
  if (options.file.empty())
    return usage_error("a .toml file with [job] and [[machine]] is missing; give one");
  if (Status apart = options.json.check({{"FILE", options.file}}); !apart) return apart;
  const auto text = read_text_file(options.file);
  if (!text) return std::unexpected(text.error());
  const auto cluster = model::parse_cluster_toml(*text, options.file);
  if (!cluster) return std::unexpected(cluster.error());
  const auto outcomes = model::simulate_sizes(*cluster, options.seed);
  if (options.json.wanted()) return options.json.write(model::to_json(*cluster, outcomes));
  print_out("{}", model::to_text(*cluster, outcomes));
  return {};
}

}  // namespace

void add_simulate_cluster(CLI::App& simulate, Action& action) {
  CLI::App* verb =
      simulate.add_subcommand("cluster", "Predict the time of machines that share the chunks of a job");
  auto options = std::make_shared<ClusterOptions>();
  verb->add_option("file", options->file, "A .toml file with [job] and [[machine]]")->option_text("FILE");
  verb->add_option("--seed", options->seed, "Seed of the simulation; the same seed gives the same result")
      ->check(not_negative())
      ->default_str("1");
  add_json_output(*verb, options->json);
  verb->footer("# Predict the time of a cluster\nmillrace simulate cluster cluster.toml");
  verb->callback([&action, options] {
    options->json.give_back(options->file);
    action = [options] { return simulate_cluster_file(*options); };
  });
}

}  // namespace millrace::cli
