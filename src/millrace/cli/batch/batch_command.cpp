#include "millrace/cli/batch/batch_command.h"

#include "millrace/base/check_outputs.h"
#include "millrace/base/clock.h"
#include "millrace/base/command_line.h"
#include "millrace/base/counted.h"
#include "millrace/base/error_line.h"
#include "millrace/base/interrupt.h"
#include "millrace/base/json_file.h"
#include "millrace/base/print.h"
#include "millrace/base/printable.h"
#include "millrace/base/progress_line.h"
#include "millrace/base/system_reason.h"
#include "millrace/cli/batch/batch_report.h"
#include "millrace/cli/batch/earlier_work.h"
#include "millrace/machine/limits/usable_memory.h"
#include "millrace/run/batch/kept_record.h"
#include "millrace/run/options/check_threads.h"
#include "millrace/run/options/run_report.h"
#include "millrace/video/sequence_writer.h"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace millrace::cli {
namespace {

namespace fs = std::filesystem;

// "a.mp4 45 %, b.mp4 10 %". name_of: name of a job's input.
std::string running_text(const run::BatchProgress& progress,
                         const std::function<const std::string&(std::size_t job)>& name_of) {
  constexpr std::size_t most_named = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(progress.running.size(), most_named); ++i) {
    const auto& [job, run] = progress.running[i];
    text += fmt::format("{}{}", i > 0 ? ", " : "", printable(fs::path(name_of(job)).filename().string()));
    if (run.total && *run.total > 0)
      text += fmt::format(" {} %", std::min<std::int64_t>(100, 100 * run.frames / *run.total));
  }
  if (progress.running.size() > most_named)
    text += fmt::format(" and {} more", progress.running.size() - most_named);
  if (progress.failed > 0) text += fmt::format("  {} failed", progress.failed);
  return text;
}

// Prefixes the input's name, which many messages already contain.
std::string about(const std::string& input, const std::string& message) {
  return message.find(input) != std::string::npos ? message : fmt::format("{}: {}", input, message);
}

// Prints a warning of many jobs only once.
void print_warnings(const BatchReport& report) {
  std::map<std::string, std::pair<std::size_t, const std::string*>> jobs_by_warning;
  for (const BatchReport::Job& job : report.jobs) {
    for (const std::string& warning : job.result.record.warnings) {
      const auto [place, added] =
          jobs_by_warning.emplace(warning, std::pair(std::size_t{1}, &job.planned->options.input));
      if (!added) ++place->second.first;
    }
  }
  for (const auto& [warning, jobs] : jobs_by_warning)
    print_error("millrace", jobs.first == 1 ? about(*jobs.second, warning)
                                            : fmt::format("{} (so say {} jobs)", warning, jobs.first));
}

Status check_report(const BatchOptions& options, const std::vector<PlannedJob>& jobs) {
  const std::string& json = options.run.json;
  if (json.empty() || json == "-") return {};
  if (!options.job_file.empty() && is_same_file(json, options.job_file))
    return usage_error("{}: is both --job-file and --json; give --json another file", json);
  if (fs::path(json).filename() == run::kept_record_name)
    return usage_error("{}: is where a batch notes what is done; give --json another file", json);
  for (const PlannedJob& job : jobs) {
    if (is_same_file(json, job.options.input) || video::share_pictures(json, job.options.input))
      return usage_error("{}: is both an input and --json; give --json another file", json);
    if (job.options.output != "null" &&
        (is_same_file(json, job.options.output) || video::share_pictures(json, job.options.output)))
      return usage_error("{}: is both the output of '{}' and --json; give one of them another file", json,
                         job.options.input);
  }
  return check_outputs({{"--json", json}}, overwrite_if(options.run.force));
}

// Creates missing output folders.
Status make_folders(const std::vector<PlannedJob>& jobs) {
  for (const PlannedJob& job : jobs) {
    const fs::path folder = fs::path(job.options.output).parent_path();
    if (job.options.output == "null" || folder.empty()) continue;
    std::error_code error;
    fs::create_directories(folder, error);
    if (error)
      return usage_error("cannot make the folder '{}': {}; choose another by -o", folder.string(),
                         error.message());
  }
  return {};
}

Status run_batch(const BatchOptions& options, const Interrupt& interrupt) {
  const auto machine = machine::inspect_machine();
  if (!machine) return std::unexpected(machine.error());
  const int limit = machine->usable.worker_limit;
  if (Status allowed = run::check_threads(options.run.threads, limit); !allowed) return allowed;
  std::uint64_t memory = machine::usable_memory() / 2;
  if (!options.memory.empty()) {
    const auto bytes = parse_bytes(options.memory);
    if (!bytes) return std::unexpected(bytes.error());
    memory = *bytes;
  }
  auto planned = plan_jobs(options, limit, interrupt.token());
  if (!planned) return std::unexpected(planned.error());
  if (Status possible = check_report(options, *planned); !possible) return possible;
  EarlierWork earlier(options.run.force, options.resume);
  const auto done_before = earlier.look_at(*planned, interrupt.token());
  if (!done_before) return std::unexpected(done_before.error());
  if (Status made = make_folders(*planned); !made) return made;

  BatchReport report{.jobs = {}, .memory_bytes = memory};
  std::vector<run::BatchJob> jobs;
  std::vector<std::size_t> number_of;  // index in the report, by job
  for (std::size_t j = 0; j < planned->size(); ++j) {
    const EarlierWork::Found& found = (*done_before)[j];
    report.jobs.push_back({.planned = &(*planned)[j], .frames_before = found.frames, .skipped = found.done});
    if (found.done) continue;
    auto job = batch_job_of((*planned)[j], limit);
    if (!job) return std::unexpected(job.error());
    job->options.writer.overwrite = overwrite_if(options.run.force || found.ours);
    jobs.push_back(std::move(*job));
    number_of.push_back(j);
  }

  auto cache = run::kernel_cache_of(options.run);
  if (!cache) return std::unexpected(cache.error());
  const auto context = run::ExecutionContext::make_shared(
      *machine, options.run.threads > 0 ? options.run.threads : limit, *std::move(cache));
  if (!context) return std::unexpected(context.error());

  const std::int64_t start = now_ns();
  ProgressLine line(!options.run.quiet, {.plural = "jobs"});
  run::BatchOptions how{
      .memory_bytes = memory, .keep_decisions = !options.run.json.empty(), .stop = interrupt.token()};
  if (options.side_by_side > 0) how.side_by_side = options.side_by_side;
  how.on_progress = [&](const run::BatchProgress& progress) {
    line.update(static_cast<std::int64_t>(progress.ended), static_cast<std::int64_t>(progress.jobs),
                running_text(progress, [&](std::size_t job) -> const std::string& {
                  return (*planned)[number_of[job]].options.input;
                }));
  };
  how.before = [&](std::size_t job) -> Result<bool> {
    const auto found = earlier.begin((*planned)[number_of[job]]);
    if (!found) return std::unexpected(found.error());
    report.jobs[number_of[job]].frames_before = found->frames;
    return !found->done;
  };
  how.ended = [&](std::size_t job) { earlier.end((*planned)[number_of[job]]); };
  how.after = [&](std::size_t job, const run::RunRecord& record) -> Status {
    earlier.note_done((*planned)[number_of[job]], record.frames);
    return {};
  };
  run::Batch batch(**context, std::move(jobs), std::move(how));
  Status outcome = batch.run();
  line.clear();
  for (std::size_t j = 0; j < number_of.size(); ++j)
    report.jobs[number_of[j]].result = batch.results()[j];
  report.wall_seconds = seconds(now_ns() - start);
  report.most_side_by_side = batch.most_side_by_side();
  report.decisions = batch.explain();
  report.peak_rss_bytes = run::peak_rss_bytes();

  if (!options.run.quiet) {
    for (const std::string& warning : earlier.warnings())
      print_error("millrace", warning);
    print_warnings(report);
    print_note("{}", to_text(report, options.run.explain));
  }
  const int failed = count(report, "failed");
  for (const BatchReport::Job& job : report.jobs) {
    if (state_of(job) == "failed")
      print_error("millrace", about(job.planned->options.input, job.result.outcome.error().message));
  }
  if (outcome && failed > 0)
    outcome = failure("{} of {} failed; --resume does them again, and nothing that is done", failed,
                      counted(report.jobs.size(), "job"));
  else if (!outcome)
    outcome.error().message += "; --resume goes on from there";
  if (!options.run.json.empty()) {
    Status written = write_json(to_json(report, *machine), options.run.json, overwrite_if(options.run.force));
    if (!written && outcome) return written;
    if (!written) print_error("millrace", written.error().message);
  }
  return outcome;
}

}  // namespace

void add_batch_command(CLI::App& app, Action& action) {
  CLI::App* verb =
      app.add_subcommand("batch", "Run filter pipelines over many videos, some of them side by side");
  auto options = std::make_shared<BatchOptions>();
  BatchOptions& o = *options;
  verb->add_option(
          "pipeline_and_inputs", o.words,
          "a pipeline as `millrace run` takes it, then inputs: files, patterns in quotes ('clips/*.mp4'), "
          "test:WIDTHxHEIGHT[@FRAMES]; with --job-file none, or the pipeline of jobs without one")
      ->type_name("PIPELINE INPUT...");
  verb->add_option("--job-file", o.job_file,
                   "jobs, written down: TOML (*.toml), or one JSON object a line; - for standard input");
  verb->add_option(
          "-o,--output", o.output,
          "output of each job: a pattern with {stem}, {name}, {dir} or {index}, as 'out/{stem}.mp4'; "
          "with --suffix a folder; null keeps nothing")
      ->check(CLI::Validator([](const std::string& text) { return text.empty() ? no_output_name : ""; }, ""));
  verb->add_option(
      "--suffix", o.suffix,
      "outputs are called like their inputs with this in the place of .mp4 or the like, in the folder "
      "of -o, or beside the input");
  verb->add_flag(overwrite_flag, o.run.force, overwrite_help);
  verb->add_flag("--resume", o.resume,
                 "leave out what an earlier batch has done from the same input with the same pipeline and "
                 "options; do the rest");
  verb->add_option("--side-by-side", o.side_by_side, "jobs; default: what turns out best")
      ->check(CLI::Range(1, 4096));
  verb->add_option("--memory", o.memory,
                   "what jobs may take together, as 2G; default: half of what is to be had");
  verb->add_flag("--explain", o.run.explain, "print which jobs ran side by side and why");
  verb->add_option("--threads", o.run.threads,
                   "worker threads of all jobs together; default: as many as this process may use")
      ->check(CLI::Range(1, 4096));
  verb->add_option("--structure", o.run.structure, "as of millrace run, and so the following");
  verb->add_option("--fusion", o.run.fusion, "none, pointwise, stencil, all");
  verb->add_option("--tile", o.run.tile, "WIDTHxHEIGHT; 0 for all of a side");
  verb->add_option("--isa", o.run.isa, "baseline, sse41, avx2, avx512");
  verb->add_flag("--no-profile", o.run.no_profile,
                 "neither use nor keep what runs learn, nor the kernels they compile");
  verb->add_option("--shared", o.run.shared, "as of millrace chunk");
  verb->add_option("--seed", o.run.seed, "of the search's random choices")->check(not_negative());
  verb->add_option("--at", o.run.changes, "FRAME:STAGE.PARAMETER=VALUE, in every job; may be repeated")
      ->take_all();
  verb->add_option("--planes", o.run.planes, "auto, all, luma");
  verb->add_option("--on-damage", o.run.on_damage, "stop or skip");
  verb->add_option("--frames", o.run.frames, "of each input, at most")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  verb->add_option("--loop", o.run.loop, "read each input so many times")->check(CLI::Range(1, 1 << 30));
  verb->add_flag("--no-audio", o.run.no_audio, "leave sound out of the outputs");
  verb->add_option("--json", o.run.json, "write a report to a file, or - for standard output");
  verb->add_option("--codec", o.run.codec,
                   "h264 (default for .mp4, .mov and .mkv), h265, av1, vp9 (default for .webm), ffv1 "
                   "(lossless, .mkv), prores, gif, rawvideo");
  verb->add_option("--crf", o.run.crf,
                   "quality of h264, h265 (0 to 51), av1 and vp9 (0 to 63); smaller is better");
  verb->add_option("--preset", o.run.preset,
                   "of the encoder, size against time: veryfast, slow, ...; av1 0 to 13, vp9 0 to 8");
  verb->add_option("--bitrate", o.run.bitrate, "bits a second, as 800k or 5M, in the place of --crf");
  verb->add_option("--encoder-options", o.run.encoder_options,
                   "NAME=VALUE,... of FFmpeg's encoder; may be repeated")
      ->take_all();
  verb->add_option(
      "--format", o.run.format,
      "of the output's samples: gray, yuv420p to yuv444p16, nv12, p010, rgb24, gbrp16; default: as "
      "the input has them");
  verb->add_option("--start", o.run.start,
                   "TIME from which on frames are taken, from the first one on: 12.5 or 0:01:30.25");
  verb->add_option("--end", o.run.end, "TIME before which the last frame is shown");
  verb->add_flag("--no-autorotate", o.run.no_autorotate,
                 "leave frames as they are stored, and the way to turn them to the player");
  verb->add_flag("--treat-as-progressive", o.run.treat_as_progressive,
                 "take video that calls itself interlaced for such that is not");
  verb->add_option("--decoder-threads", o.run.decoder_threads,
                   "of each job; default: what fits those side by side")
      ->check(CLI::Range(1, 256));
  verb->add_option("--encoder-threads", o.run.encoder_threads,
                   "of each job; default: as of millrace run, so that outputs are the same")
      ->check(CLI::Range(1, 256));
  verb->add_flag("-q,--quiet", o.run.quiet,
                 "no progress line and no summary; failed jobs are told all the same");
  verb->callback([&action, options] {
    action = [options] {
      const Interrupt interrupt;
      return interrupt.told(run_batch(*options, interrupt));
    };
  });
}

}  // namespace millrace::cli
