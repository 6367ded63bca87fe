#include "millrace/cli/bench/bench_command.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/file/check_outputs.h"
#include "millrace/base/file/json_file.h"
#include "millrace/base/text/print.h"
#include "millrace/run/compare/adaptive_comparison.h"
#include "millrace/run/options/check_threads.h"
#include "millrace/run/options/run_report.h"

#include <cmath>
#include <memory>
#include <vector>

#include <fmt/format.h>

namespace millrace::cli {
namespace {

struct BenchOptions {
  std::vector<std::string> pipelines{"@A", "@B", "@C", "@D", "@E", "@F", "@G"};
  std::vector<std::string> sizes{"352x288", "1920x1080"};
  std::vector<int> threads{1, 2};
  double seconds = 10;
  std::string disturbance = "none";
  std::uint64_t seed = 1;
  run::StaticSearch search;
  bool older_isas = false;
  std::string json;
  bool force = false;
};

Result<run::Disturbance> disturbance_of(const std::string& name) {
  if (name == "none") return run::Disturbance::none;
  if (name == "angle") return run::Disturbance::angle;
  if (name == "load") return run::Disturbance::load;
  return usage_error("--disturbance: unknown value '{}'; use none, angle or load", name);
}

void print_heading() {
  print_out("{:<10} {:>9} {:>2}  {:>8} {:>6} {:>6} {:>7} {:>7} {:>6} {:>6} {:>7} {:>6} {:>6}  {}\n",
            "pipeline", "size", "th", "best ms", "deflt", "share", "5% in s", "frames", "loss", "x seq",
            "2nd run", "decide", "took s", "best static schedule");
}

void print_row(const run::AdaptCase& which, const run::AdaptResult& r) {
  print_out("{:<10} {:>9} {:>2}  {:>8.3f} {:>5.1f}% {:>5.1f}% {:>7.2f} {:>7} {:>5.1f}% {:>6.2f} {:>6.1f}% "
            "{:>5.2f}% {:>6.1f}  {}\n",
            which.pipeline, fmt::format("{}x{}", which.width, which.height), which.threads, r.best_ms,
            100 * r.default_share, 100 * r.converged_share, r.seconds_to_5, r.frames_to_5, 100 * r.loss,
            r.against_sequential, 100 * r.second_run_share, 100 * r.deciding_share, r.took.whole,
            to_string(r.best));
  if (r.race_share)
    print_out("what the race finds has {:.1f}% of the throughput of the best of all\n", 100 * *r.race_share);
  std::fflush(stdout);
}

Status bench(const BenchOptions& options) {
  if (Status checked = check_outputs({{"--json", options.json}}, overwrite_if(options.force)); !checked)
    return checked;
  const auto disturbance = disturbance_of(options.disturbance);
  if (!disturbance) return std::unexpected(disturbance.error());
  const auto machine = machine::inspect_machine();
  if (!machine) return std::unexpected(machine.error());
  std::vector<run::AdaptCase> cases;
  for (const std::string& size : options.sizes) {
    const auto parsed = image::parse_tile(size);
    if (!parsed || parsed->width == 0 || parsed->height == 0)
      return usage_error("--sizes: '{}' is not WIDTHxHEIGHT; write 1920x1080", size);
    for (const std::string& pipeline : options.pipelines) {
      for (int threads : options.threads) {
        if (Status allowed = run::check_threads(threads, machine->usable.worker_limit); !allowed)
          return allowed;
        cases.push_back({.pipeline = pipeline,
                         .width = parsed->width,
                         .height = parsed->height,
                         .threads = threads,
                         .seconds = options.seconds,
                         .seed = options.seed,
                         .disturbance = *disturbance,
                         .search = options.search,
                         .older_isas = options.older_isas});
      }
    }
  }
  print_heading();
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  double log_sum = 0;
  for (const run::AdaptCase& which : cases) {
    const auto result = run::compare_adaptive(*machine, which);
    if (!result) return std::unexpected(result.error());
    print_row(which, *result);
    rows.push_back(to_json(which, *result));
    log_sum += std::log(result->against_sequential);
  }
  print_out("geometric mean against sequential: {:.2f}x\n",
            std::exp(log_sum / static_cast<double>(cases.size())));
  return options.json.empty() ? Status{} : write_json(rows, options.json, overwrite_if(options.force));
}

}  // namespace

void add_bench_command(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("bench", "Measure millrace itself on this machine");
  verb->group(verb_group::machine);
  verb->require_subcommand(1);
  verb->footer(
      "# Compare the adaptive scheduler with the best static schedule\nmillrace bench adapt --pipelines @A");
  CLI::App* adapt = verb->add_subcommand(
      "adapt", "Compare the adaptive scheduler with the best static schedule\n\n"
               "Frames are in memory. Columns of the output: deflt: throughput of the first guess, relative "
               "to the best static "
               "schedule. share: adaptive throughput after convergence, likewise. 5% in s, frames: time and "
               "frames until within "
               "5 % of the best (-1: never). loss: share of the run's time lost by not knowing the best. x "
               "seq: throughput "
               "relative to the paper's sequential structure. 2nd run: share in the first 10 frames with the "
               "profile. decide: "
               "share of the time for deciding. took s: wall time.\n\n"
               "Each case takes 10 to 30 seconds for a race of static schedules, and 4/3 of --seconds.");
  auto options = std::make_shared<BenchOptions>();
  BenchOptions& o = *options;
  adapt->add_option("--pipelines", o.pipelines, "Pipelines or presets, separated by ';'")
      ->option_text("PIPELINE;...")
      ->delimiter(';')
      ->default_str("@A to @G");
  adapt->add_option("--sizes", o.sizes, "Frame sizes")
      ->option_text("WIDTHxHEIGHT,...")
      ->delimiter(',')
      ->default_str("352x288,1920x1080");
  adapt->add_option("--threads", o.threads, "Numbers of worker threads")
      ->option_text("N,...")
      ->delimiter(',')
      ->check(between(1, 4096))
      ->default_str("1,2");
  adapt->add_option("--seconds", o.seconds, "Length of each adaptive run")
      ->check(above_zero())
      ->default_str("10");
  adapt->add_option("--json", o.json, "Write the rows to a file, or - for standard output")
      ->option_text("FILE");
  add_overwrite_flag(*adapt, o.force);
  begin_group(*adapt, "Search");
  adapt
      ->add_option(
          "--disturbance", o.disturbance,
          "Change in the middle of the run. angle: rotate goes to 60 degrees; load: another process takes a "
          "core")
      ->option_text("NAME")
      ->check(one_of_many({"none", "angle", "load"}))
      ->default_str("none");
  adapt->add_flag(
      "--exhaustive", o.search.exhaustive,
      "Time every static schedule with any number of threads and instruction set, which takes minutes");
  adapt->add_flag("--older-isas", o.older_isas, "Include older instruction sets in the race");
  adapt->add_option("--search-seconds", o.search.seconds, "Length of the race, approximately")
      ->check(above_zero());
  adapt->add_option("--seed", o.seed, "Seed of the schedule search")->check(not_negative())->default_str("1");
  adapt->footer(
      "# Measure one preset at one size\nmillrace bench adapt --pipelines @A --sizes 352x288 --threads 1");
  adapt->callback([&action, options] { action = [options] { return bench(*options); }; });
}

}  // namespace millrace::cli
