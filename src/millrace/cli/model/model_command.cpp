#include "millrace/cli/model/model_command.h"

#include "millrace/base/file/check_outputs.h"
#include "millrace/base/options/json_output.h"
#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/print.h"
#include "millrace/cli/model/model_plot.h"
#include "millrace/cli/model/pipeline_source.h"
#include "millrace/model/pipeline/load_pipeline.h"
#include "millrace/model/pipeline/recorded_calls.h"
#include "millrace/model/pipeline/recorded_run.h"
#include "millrace/model/report/ferret_report.h"
#include "millrace/model/report/model_report.h"
#include "millrace/model/report/paper_cases.h"
#include "millrace/report/plot/model_plot.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace millrace::cli {
namespace {

struct ModelOptions {
  std::string pipeline;
  std::string from;
  std::string trace;
  std::string beside;
  std::optional<int> cores;
  std::string threads = "1..16";
  std::vector<std::string> strategies;
  std::optional<int> tokens;
  std::optional<int> queue;
  std::optional<std::int64_t> items;
  std::uint64_t seed = 1;
  std::string plot;
  bool sticky = false;
  bool formulas = false;
  bool paper = false;
  std::vector<std::string> cases;
  JsonOutput json;
  bool force = false;
};

OptionWords strategy_words() {
  OptionWords words;
  for (const model::Strategy strategy : model::all_strategies)
    words.emplace_back(to_string(strategy));
  return words;
}

OptionWords paper_case_words() {
  OptionWords words;
  for (const model::PaperCase which : model::all_paper_cases)
    words.emplace_back(to_string(which));
  return words;
}

Status print_paper() {
  const auto predictions = model::predict_ferret();
  if (!predictions) return std::unexpected(predictions.error());
  print_out("{}", model::to_text(*predictions, model::paper_sizing()));
  return {};
}

Result<model::ModelQuestion> question_of(const ModelOptions& options) {
  const auto cores = counts_of(options.threads);
  if (!cores) return std::unexpected(cores.error());
  model::ModelQuestion question{.cores = *cores,
                                .machine_cores = options.cores,
                                .tokens = options.tokens,
                                .queue = options.queue,
                                .sharing = options.sticky ? model::CoreSharing::sticky
                                                          : model::CoreSharing::balanced,
                                .simulate = !options.formulas,
                                .seed = options.seed};
  if (!options.strategies.empty()) question.strategies.clear();
  for (const std::string& name : options.strategies) {
    const auto strategy = model::strategy_of(name);
    if (!strategy)
      return usage_error("--strategy: unknown value {}; use pools, oversubscribed, collapsed or stealing",
                         in_quotes(name));
    question.strategies.push_back(*strategy);
  }
  return question;
}

// Predictions of the paper's models, if requested.
Result<std::vector<model::PaperRow>> paper_rows(const ModelOptions& options, const model::Pipeline& pipeline,
                                                const model::ModelQuestion& question) {
  if (options.cases.empty()) return std::vector<model::PaperRow>();
  model::PaperQuestion asked{.threads = question.cores, .tokens = question.tokens, .items = question.items};
  if (question.queue) asked.queue = *question.queue;
  for (const std::string& name : options.cases) {
    const auto which = model::paper_case_of(name);
    if (!which) return std::unexpected(which.error());
    asked.cases.push_back(*which);
  }
  return model::paper_answer(pipeline, asked);
}

Result<model::RecordedRun> read_run(const std::string& path) {
  const auto text = read_text_file(path);
  if (!text) return std::unexpected(text.error());
  return model::parse_recorded_run(*text, path);
}

// The recorded run, with the user's calls and slowdown if given.
Result<model::RecordedRun> recorded_run(const ModelOptions& options) {
  auto run = read_run(options.from);
  if (!run) return run;
  if (!options.trace.empty()) {
    const auto text = read_text_file(options.trace);
    if (!text) return std::unexpected(text.error());
    auto calls =
        model::parse_recorded_calls(*text, options.trace, run->pipeline, run->items, run->busy_seconds);
    if (!calls) return std::unexpected(calls.error());
    run->pipeline.recorded = std::make_shared<const model::RecordedCalls>(std::move(*calls));
  }
  if (!options.beside.empty()) {
    if (!options.cores) return usage_error("--loaded-run needs the number of busy cores; add --cores N");
    const auto beside = read_run(options.beside);
    if (!beside) return std::unexpected(beside.error());
    if (const Status set = model::set_slowdown(*run, *beside, *options.cores); !set)
      return std::unexpected(set.error());
  }
  return run;
}

Status run_model(const ModelOptions& options) {
  if (options.paper) return print_paper();
  if (options.pipeline.empty() == options.from.empty())
    return usage_error("give either stages ('load serial 0.55ms; work 6ms', or a .toml file) or --from FILE");
  if (options.from.empty() && !(options.trace.empty() && options.beside.empty()))
    return usage_error("--trace and --loaded-run belong to a recorded run; add --from FILE");
  if (!options.plot.empty()) {
    if (const Status named = check_plot_name(options.plot); !named) return named;
  }
  const bool is_file = options.pipeline.ends_with(".toml");
  if (Status apart = check_outputs({{"--plot", options.plot}, {"--json", options.json.file}},
                                   overwrite_if(options.force),
                                   {{"PIPELINE", is_file ? options.pipeline : ""},
                                    {"--from", options.from},
                                    {"--trace", options.trace},
                                    {"--beside", options.beside}});
      !apart)
    return apart;
  auto question = question_of(options);
  if (!question) return std::unexpected(question.error());
  model::Pipeline pipeline;
  std::vector<report::MeasuredTime> measured;
  if (!options.from.empty()) {
    auto run = recorded_run(options);
    if (!run) return std::unexpected(run.error());
    pipeline = std::move(run->pipeline);
    question->items = run->items;
    if (run->threads > 0 && run->wall_seconds > 0)
      measured.push_back({run->strategy, run->threads, run->wall_seconds});
  } else {
    auto given = model::load_pipeline(options.pipeline);
    if (!given) return std::unexpected(given.error());
    pipeline = std::move(*given);
  }
  if (options.items) {
    // A time measured for another number of items must not be plotted.
    if (*options.items != question->items) measured.clear();
    question->items = *options.items;
  }
  const auto cases = paper_rows(options, pipeline, *question);
  if (!cases) return std::unexpected(cases.error());
  const auto report = model::answer(pipeline, *question);
  if (!report) return std::unexpected(report.error());
  if (!options.plot.empty()) {
    if (const Status drawn =
            write_plot(options.plot, report::plot_svg(*report, measured), overwrite_if(options.force));
        !drawn)
      return drawn;
  }
  if (options.json.wanted()) {
    nlohmann::json json = model::to_json(*report);
    if (!cases->empty()) json["paper_cases"] = model::to_json(*cases);
    return write_json(json, options.json.file, overwrite_if(options.force));
  }
  print_out("{}{}", model::to_text(*report), cases->empty() ? "" : model::to_text(*cases));
  return {};
}

}  // namespace

void add_model_command(CLI::App& app, Action& action) {
  CLI::App* verb =
      app.add_subcommand("model", "Predict the speed of a pipeline of stages, and suggest how to run it");
  verb->group(verb_group::streams);
  auto options = std::make_shared<ModelOptions>();
  verb->add_option(
          "pipeline", options->pipeline,
          "Stages with their service times, such as 'load serial 0.55ms; rank 6ms cv 0.5', or a .toml file")
      ->option_text("[STAGES]");
  verb->add_option("--threads", options->threads,
                   "Numbers of cores: 4, or 1,2,8, or 1..64 (doubled), or 1..8/1")
      ->option_text("LIST")
      ->default_str("1..16");
  verb->add_option("--from", options->from, "Report of a recorded run, instead of stages")
      ->option_text("FILE");
  verb->add_option("--strategy", options->strategies, "Strategies of the stream runtime")
      ->option_text("NAME,...")
      ->delimiter(',')
      ->check(one_of(strategy_words()))
      ->default_str("all");
  verb->add_option("--plot", options->plot, "Draw times against cores to a .svg or .png file")
      ->option_text("FILE");
  add_overwrite_flag(*verb, options->force);
  begin_group(*verb, "Recorded runs");
  verb->add_option("--trace", options->trace, "Trace of the recorded run; its items are simulated one by one")
      ->option_text("FILE");
  verb->add_option("--loaded-run,--beside", options->beside,
                   "Report of the same run while all --cores were busy; shows how they slow each other down")
      ->option_text("FILE");
  verb->add_option("--cores", options->cores,
                   "Cores of the machine; predicts the stream runtime with --threads, --tokens and --queue")
      ->check(between(1, 1 << 20));
  begin_group(*verb, "Stream runtime");
  verb->add_option("--tokens", options->tokens,
                   "Items in flight, for stealing, or for all strategies with --cores")
      ->check(between(1, 1 << 30))
      ->default_str("enough for full speed");
  verb->add_option("--queue", options->queue, "Items that wait for each pool")
      ->check(between(1, 1 << 30))
      ->default_str("enough for full speed");
  verb->add_flag("--sticky", options->sticky, "Model a scheduler that keeps every thread on one core");
  begin_group(*verb, "Prediction");
  verb->add_option("--items", options->items, "Items of the run")
      ->check(between(std::int64_t{1}, std::int64_t{1} << 40))
      ->default_str("100000, or those of the recorded run");
  verb->add_option("--seed", options->seed, "Seed of the simulations")
      ->check(not_negative())
      ->default_str("1");
  verb->add_flag(
      "--formulas", options->formulas,
      "Use formulas instead of simulations; faster, but without order, batches and details of queues");
  verb->add_option("--cases", options->cases,
                   "Add models of Navarro et al. 2009, with --threads for all parallel stages together")
      ->option_text("NAME,...")
      ->delimiter(',')
      ->check(one_of(paper_case_words()));
  verb->add_flag("--paper", options->paper, "Compare predictions with the measurements of that paper");
  add_json_output(*verb, options->json);
  verb->footer("# Predict a pipeline of two stages on 1 to 16 cores\n"
               "millrace model 'load serial 0.5ms; rank 6ms cv 0.5'");
  verb->callback([&action, options] {
    if (options->from.empty() && !options->paper) options->json.give_back(options->pipeline);
    action = [options] { return run_model(*options); };
  });
}

}  // namespace millrace::cli
