#include "millrace/cli/cluster/cluster_commands.h"

#include "millrace/base/file/check_outputs.h"
#include "millrace/base/file/json_file.h"
#include "millrace/base/numbers/counted.h"
#include "millrace/base/options/progress_line.h"
#include "millrace/base/process/interrupt.h"
#include "millrace/base/text/error_line.h"
#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/parse_number.h"
#include "millrace/base/text/print.h"
#include "millrace/base/text/printable.h"
#include "millrace/cli/command/video_options.h"
#include "millrace/cluster/work/do_chunk.h"
#include "millrace/cluster/work/join_parts.h"
#include "millrace/cluster/work/make_plan.h"
#include "millrace/cluster/work/part.h"
#include "millrace/run/options/check_outputs.h"
#include "millrace/run/options/check_threads.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace millrace::cli {
namespace {

struct PlanOptions {
  run::RunOptions run;
  std::string chunk = "10s";
  std::string plan;  // file to write
  std::string show;
};

// "10s", "2.5", "1m"
Result<double> parse_length(const std::string& text) {
  std::string_view number = text;
  double unit = 1;
  if (number.ends_with("ms")) {
    number.remove_suffix(2);
    unit = 1e-3;
  } else if (number.ends_with('s')) {
    number.remove_suffix(1);
  } else if (number.ends_with('m')) {
    number.remove_suffix(1);
    unit = 60;
  }
  const auto length = parse_number<double>(number);
  if (!length || !(*length * unit >= 0.001) || *length * unit > 86400)
    return usage_error("--chunk {} is not a duration; write 10s, 500ms or 1m", in_quotes(text));
  return *length * unit;
}

Status plan_job(const PlanOptions& options, const Interrupt& interrupt) {
  if (!options.show.empty()) {
    if (!options.run.pipeline.empty())
      return usage_error("--show prints an existing plan; leave out the pipeline");
    const auto plan = cluster::read_plan(options.show, interrupt.token());
    if (!plan) return std::unexpected(plan.error());
    print_out("{}", to_text(*plan));
    return {};
  }
  if (options.run.pipeline.empty() || options.run.input.empty() || options.plan.empty())
    return usage_error(
        "a part of the plan is missing; give a pipeline, an input and -o PLAN, or --show PLAN");
  const auto length = parse_length(options.chunk);
  if (!length) return std::unexpected(length.error());
  const auto plan = cluster::make_plan(options.run, *length, interrupt.token(), [&options] {
    return check_outputs({{"-o", options.plan}}, overwrite_if(options.run.force),
                         {{"INPUT", options.run.input}, run::pipeline_file(options.run.pipeline)});
  });
  if (!plan) return std::unexpected(plan.error());
  if (Status written = write_json(to_json(*plan), options.plan, overwrite_if(options.run.force)); !written)
    return written;
  if (!options.run.quiet) {
    if (!plan->warning.empty()) print_error("millrace", plan->warning);
    const std::string text = to_text(*plan);
    print_note("{}", text.substr(0, text.find('\n') + 1));
  }
  return {};
}

struct ChunkWords {
  std::string plan;
  std::vector<std::int64_t> numbers;
  std::string folder;
  std::string input;
  int threads = 0;
  bool no_profile = false;
  std::string shared;
  std::string json;
  bool force = false;  // overwrite the report
  bool quiet = false;
};

nlohmann::ordered_json to_json(const cluster::ChunkOutcome& outcome) {
  const cluster::PartRecord& part = outcome.part;
  return {{"chunk", part.chunk},
          {"state", outcome.skipped ? "skipped" : "done"},
          {"frames", part.frames},
          {"decoded", part.decoded},
          {"decoded_from", part.decoded_from},
          {"codec",
           outcome.skipped ? nlohmann::ordered_json() : nlohmann::ordered_json(outcome.run.written_as.codec)},
          {"output_bytes", part.content.bytes},
          {"seconds", part.seconds},
          {"machine", part.machine},
          {"from_profile", outcome.run.from_profile}};
}

Status do_chunks(const ChunkWords& words, const Interrupt& interrupt) {
  const auto plan = cluster::read_plan(words.plan, interrupt.token());
  if (!plan) return std::unexpected(plan.error());
  for (const std::int64_t number : words.numbers)
    if (Status known = cluster::check_number(*plan, number); !known) return known;
  const auto machine = machine::inspect_machine();
  if (!machine) return std::unexpected(machine.error());
  if (Status allowed = run::check_threads(words.threads, machine->usable.worker_limit); !allowed)
    return allowed;
  const std::string& input = words.input.empty() ? plan->input : words.input;
  if (cluster::is_part_name(words.json, *plan, words.folder))
    return usage_error("{}: is the name of a part; give --json another file", words.json);
  if (Status possible = check_outputs({{"--json", words.json}}, overwrite_if(words.force),
                                      {{"PLAN", words.plan}, {"INPUT", input}});
      !possible)
    return possible;
  std::error_code made;
  std::filesystem::create_directories(words.folder, made);
  if (made)
    return usage_error("cannot create the folder {}: {}; choose another", words.folder, made.message());
  auto cache = run::kernel_cache_of({.no_profile = words.no_profile, .shared = words.shared});
  if (!cache) return std::unexpected(cache.error());
  const auto context = run::ExecutionContext::make(
      *machine, words.threads > 0 ? words.threads : machine->usable.worker_limit, *std::move(cache));
  if (!context) return std::unexpected(context.error());
  nlohmann::ordered_json report = nlohmann::ordered_json::array();
  Status outcome;
  for (const std::int64_t number : words.numbers) {
    ProgressLine line(!words.quiet, {.plural = "frames"});
    const auto done =
        cluster::do_chunk(*plan, number, **context,
                          {.folder = words.folder,
                           .input = words.input,
                           .threads = words.threads,
                           .no_profile = words.no_profile,
                           .shared = words.shared,
                           .stop = interrupt.token(),
                           .on_progress = [&](const run::RunProgress& progress) {
                             line.update(progress.frames, progress.total, fmt::format("chunk {}", number));
                           }});
    line.clear();
    if (!done) {
      outcome = std::unexpected(done.error());
      break;
    }
    report.push_back(to_json(*done));
    if (words.quiet) continue;
    for (const std::string& warning : done->run.warnings)
      print_error("millrace", warning);
    const cluster::PartRecord& part = done->part;
    if (done->skipped)
      print_note("chunk {}: was done before\n", number);
    else
      print_note("chunk {}: {} in {:.2f} s, {} decoded from {}; {}\n", number, counted(part.frames, "frame"),
                 part.seconds, part.decoded, part.decoded_from, video::to_string(done->run.written_as));
  }
  if (!words.json.empty()) {
    const Status written = write_json(report, words.json, overwrite_if(words.force));
    if (!written && outcome) return written;
  }
  return outcome;
}

struct JoinWords {
  std::string plan;
  cluster::JoinPartsOptions join;
  bool force = false;
  bool quiet = false;
};

Status join(JoinWords words, const Interrupt& interrupt) {
  const auto plan = cluster::read_plan(words.plan, interrupt.token());
  if (!plan) return std::unexpected(plan.error());
  words.join.overwrite = overwrite_if(words.force);
  words.join.stop = interrupt.token();
  words.join.check_output = [&] {
    return check_outputs(
        {{"-o", words.join.output}}, words.join.overwrite,
        {{"PLAN", words.plan}, {"INPUT", words.join.input.empty() ? plan->input : words.join.input}});
  };
  const auto joined = cluster::join_parts(*plan, words.join);
  if (!joined) return std::unexpected(joined.error());
  if (words.quiet) return {};
  print_note("{} of {} in {} ({})\n", counted(plan->frames, "frame"), counted(plan->chunks.size(), "chunk"),
             printable(words.join.output), video::to_string(joined->written_as));
  if (!joined->not_kept.empty())
    print_error("millrace", fmt::format("not in the output: {}", fmt::join(joined->not_kept, ", ")));
  return {};
}

void add_plan_command(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("plan", "Split a run into chunks for any number of machines");
  verb->group(verb_group::video);
  auto options = std::make_shared<PlanOptions>();
  run::RunOptions& o = options->run;
  verb->add_option("pipeline", o.pipeline, pipeline_help)->check(suggest_stages(pipeline_words()));
  verb->add_option("input", o.input, "Video file that all machines can read, or test:WIDTHxHEIGHT@FRAMES");
  verb->add_option("-o,--output", options->plan, "Plan to write, or - for standard output")
      ->option_text("FILE");
  verb->add_option("--chunk", options->chunk, "Length of a chunk, such as 10s, 500ms or 1m")
      ->option_text("TIME")
      ->default_str("10s");
  add_overwrite_flag(*verb, o.force);
  verb->add_option("--show", options->show, "Print the chunks of an existing plan")->option_text("PLAN");
  verb->add_flag("-q,--quiet", o.quiet, "Print no summary");
  begin_group(*verb, "Encoding");
  add_encoding_options(*verb, o);
  verb->add_option("--encoder-threads", o.encoder_threads,
                   "Threads of the encoder on every machine; pixels depend on them")
      ->check(between(1, 256))
      ->default_str("4");
  begin_group(*verb, "Input and filters");
  add_input_flags(*verb, o);
  add_change_option(*verb, o);
  add_planes(*verb, o);
  verb->footer("# Split the encoding of a film, do two chunks here, and join all\n"
               "millrace plan 'gaussian(2)' film.mp4 -o film.plan --codec h264\n"
               "millrace chunk film.plan 0 1 -o parts\n"
               "millrace join film.plan parts -o out.mkv");
  verb->callback([&action, options] {
    action = [options] {
      const Interrupt interrupt;
      return interrupt.told(plan_job(*options, interrupt));
    };
  });
}

void add_chunk_command(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("chunk", "Do chunks of a plan, except those that are done already");
  verb->group(verb_group::video);
  auto words = std::make_shared<ChunkWords>();
  verb->add_option("plan", words->plan, "Plan that `millrace plan` wrote")->required();
  verb->add_option("numbers", words->numbers, "Numbers of the chunks; the first is 0")
      ->option_text("NUMBER...")
      ->required();
  verb->add_option("-o,--output", words->folder, "Folder for the parts, which is created if it is missing")
      ->option_text("FOLDER")
      ->required();
  verb->add_option("--input", words->input, "Path of the input on this machine")
      ->option_text("FILE")
      ->default_str("as in the plan");
  verb->add_option("--threads", words->threads, "Worker threads")
      ->check(between(1, 4096))
      ->default_str(worker_threads_default);
  verb->add_option("--shared", words->shared, shared_help)->option_text("FOLDER");
  verb->add_flag("-q,--quiet", words->quiet, "Print no progress line and no summary");
  add_overwrite_flag(*verb, words->force);
  begin_group(*verb, "Profiles and reports");
  verb->add_flag("--no-profile", words->no_profile, no_profile_help);
  verb->add_option("--json", words->json, json_report_help)->option_text("FILE");
  verb->footer("# Do the first two chunks of a plan\nmillrace chunk film.plan 0 1 -o parts");
  verb->callback([&action, words] {
    action = [words] {
      const Interrupt interrupt;
      return interrupt.told(do_chunks(*words, interrupt));
    };
  });
}

void add_join_command(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("join", "Join the parts of a plan to one video");
  verb->group(verb_group::video);
  auto words = std::make_shared<JoinWords>();
  verb->add_option("plan", words->plan, "Plan that `millrace plan` wrote")->required();
  verb->add_option("parts", words->join.folder, "Folder with the parts of all chunks")
      ->option_text("FOLDER")
      ->required();
  verb->add_option("-o,--output", words->join.output, "Output: .mkv, .mp4, .mov or .webm")
      ->option_text("FILE")
      ->required();
  add_overwrite_flag(*verb, words->force);
  verb->add_option("--input", words->join.input, "Path of the input on this machine, for its sound")
      ->option_text("FILE")
      ->default_str("as in the plan");
  verb->add_flag("-q,--quiet", words->quiet, "Print no summary");
  verb->footer("# Join the parts when all chunks are done\nmillrace join film.plan parts -o out.mkv");
  verb->callback([&action, words] {
    action = [words] {
      const Interrupt interrupt;
      return interrupt.told(join(*words, interrupt));
    };
  });
}

}  // namespace

void add_cluster_commands(CLI::App& app, Action& action) {
  add_plan_command(app, action);
  add_chunk_command(app, action);
  add_join_command(app, action);
}

}  // namespace millrace::cli
