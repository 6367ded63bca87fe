#include "millrace/cli/cluster/cluster_commands.h"

#include "millrace/base/check_outputs.h"
#include "millrace/base/command_line.h"
#include "millrace/base/counted.h"
#include "millrace/base/error_line.h"
#include "millrace/base/in_quotes.h"
#include "millrace/base/interrupt.h"
#include "millrace/base/json_file.h"
#include "millrace/base/parse_number.h"
#include "millrace/base/print.h"
#include "millrace/base/printable.h"
#include "millrace/base/progress_line.h"
#include "millrace/cluster/work/do_chunk.h"
#include "millrace/cluster/work/join_parts.h"
#include "millrace/cluster/work/make_plan.h"
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
      return usage_error("--show prints a plan that is there; give it alone");
    const auto plan = cluster::read_plan(options.show, interrupt.token());
    if (!plan) return std::unexpected(plan.error());
    print_out("{}", to_text(*plan));
    return {};
  }
  if (options.run.pipeline.empty() || options.run.input.empty() || options.plan.empty())
    return usage_error("give a pipeline, an input and -o PLAN, or --show PLAN");
  const auto length = parse_length(options.chunk);
  if (!length) return std::unexpected(length.error());
  const auto plan = cluster::make_plan(options.run, *length, interrupt.token(), [&options] {
    return check_outputs({{"-o", options.plan}}, overwrite_if(options.run.force),
                         {"INPUT", options.run.input});
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
  for (const NamedPath& other : {NamedPath{"PLAN", words.plan}, NamedPath{"INPUT", input}})
    if (Status possible = check_outputs({{"--json", words.json}}, Overwrite::yes, other); !possible)
      return possible;
  std::error_code made;
  std::filesystem::create_directories(words.folder, made);
  if (made)
    return usage_error("{}: cannot be made ({}); choose another folder", words.folder, made.message());
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
      print_note("chunk {}: is done already\n", number);
    else
      print_note("chunk {}: {} in {:.2f} s, {} decoded from {}; {}\n", number, counted(part.frames, "frame"),
                 part.seconds, part.decoded, part.decoded_from, video::to_string(done->run.written_as));
  }
  if (!words.json.empty()) {
    const Status written = write_json(report, words.json, Overwrite::yes);
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
    return check_outputs({{"-o", words.join.output}}, words.join.overwrite,
                         {"INPUT", words.join.input.empty() ? plan->input : words.join.input});
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
  CLI::App* verb = app.add_subcommand("plan", "Cut a run into chunks that any number of machines may do");
  auto options = std::make_shared<PlanOptions>();
  run::RunOptions& o = options->run;
  verb->add_option("pipeline", o.pipeline, "pipeline language, a preset @A to @G, or a .toml file");
  verb->add_option("input", o.input, "a video file, or test:WIDTHxHEIGHT@FRAMES");
  verb->add_option("-o,--output", options->plan, "the plan to write, or - for standard output");
  verb->add_flag(overwrite_flag, o.force, overwrite_help);
  verb->add_option("--show", options->show, "print a plan that is there, chunk by chunk");
  verb->add_option("--chunk", options->chunk, "length of a chunk: 10s (the default), 500ms, 1m");
  verb->add_option("--at", o.changes, "as for millrace run; frames count through all chunks")->take_all();
  verb->add_option("--planes", o.planes, "as for millrace run");
  verb->add_option("--codec", o.codec,
                   "codec of the output: h264 (default), h265, av1, vp9, prores, or ffv1 (lossless)");
  verb->add_option("--crf", o.crf, "quality, as for millrace run");
  verb->add_option("--preset", o.preset, "of the encoder, as for millrace run");
  verb->add_option("--bitrate", o.bitrate, "as for millrace run");
  verb->add_option("--encoder-options", o.encoder_options, "as for millrace run")->take_all();
  verb->add_option("--encoder-threads", o.encoder_threads,
                   "threads of the encoder, on every machine the same as pixels depend on them; default: 4")
      ->check(CLI::Range(1, 256));
  verb->add_option("--format", o.format, "of the output's samples, as for millrace run");
  verb->add_flag("--no-audio", o.no_audio, "leave sound out of the output");
  verb->add_flag("--no-autorotate", o.no_autorotate, "as for millrace run");
  verb->add_flag("--treat-as-progressive", o.treat_as_progressive, "as for millrace run");
  verb->add_flag("-q,--quiet", o.quiet, "no summary");
  verb->callback([&action, options] {
    action = [options] {
      const Interrupt interrupt;
      return interrupt.told(plan_job(*options, interrupt));
    };
  });
}

void add_chunk_command(CLI::App& app, Action& action) {
  CLI::App* verb =
      app.add_subcommand("chunk", "Do chunks of a plan; those that are done already are left alone");
  auto words = std::make_shared<ChunkWords>();
  verb->add_option("plan", words->plan, "what millrace plan wrote")->required();
  verb->add_option("numbers", words->numbers, "of the chunks, from 0 on")->required();
  verb->add_option("-o,--output", words->folder, "folder for the parts; is made where it is not there")
      ->required();
  verb->add_option("--input", words->input, "where this machine has the input; default: where the plan says");
  verb->add_option("--threads", words->threads, "worker threads; default: as many as this process may use")
      ->check(CLI::Range(1, 4096));
  verb->add_flag("--no-profile", words->no_profile,
                 "neither use nor keep what runs learn, nor the kernels they compile");
  verb->add_option(
      "--shared", words->shared,
      "a folder that the machines of this job see: what one learns, and the kernels it compiles, the "
      "others begin with");
  verb->add_option("--json", words->json, "write a report to a file, or - for standard output");
  verb->add_flag("-q,--quiet", words->quiet, "no progress line and no summary");
  verb->callback([&action, words] {
    action = [words] {
      const Interrupt interrupt;
      return interrupt.told(do_chunks(*words, interrupt));
    };
  });
}

void add_join_command(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("join", "Join the parts of a plan into one video");
  auto words = std::make_shared<JoinWords>();
  verb->add_option("plan", words->plan, "what millrace plan wrote")->required();
  verb->add_option("parts", words->join.folder, "folder of the parts")->required();
  verb->add_option("-o,--output", words->join.output, "NAME.mkv, .mp4, .mov or .webm")->required();
  verb->add_flag(overwrite_flag, words->force, overwrite_help);
  verb->add_option("--input", words->join.input,
                   "where this machine has the input; default: where the plan says");
  verb->add_flag("-q,--quiet", words->quiet, "no summary");
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
