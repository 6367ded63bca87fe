#include "millrace/cli/batch/batch_command.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/error/system_reason.h"
#include "millrace/base/file/check_outputs.h"
#include "millrace/base/file/json_file.h"
#include "millrace/base/numbers/counted.h"
#include "millrace/base/options/progress_line.h"
#include "millrace/base/process/interrupt.h"
#include "millrace/base/text/error_line.h"
#include "millrace/base/text/print.h"
#include "millrace/base/text/printable.h"
#include "millrace/cli/batch/batch_report.h"
#include "millrace/cli/batch/earlier_work.h"
#include "millrace/cli/command/video_options.h"
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
                                            : fmt::format("{} ({} jobs)", warning, jobs.first));
}

Status check_report(const BatchOptions& options, const std::vector<PlannedJob>& jobs) {
  const std::string& json = options.run.json;
  if (json.empty() || json == "-") return {};
  if (fs::path(json).filename() == run::kept_record_name)
    return usage_error("{}: is reserved for the record of finished jobs; give --json another file", json);
  for (const PlannedJob& job : jobs) {
    if (is_same_file(json, job.options.input) || video::share_pictures(json, job.options.input))
      return usage_error("{}: is both an input and --json; give --json another file", json);
    if (job.options.output != "null" &&
        (is_same_file(json, job.options.output) || video::share_pictures(json, job.options.output)))
      return usage_error("{}: is both the output of '{}' and --json; give one of them another file", json,
                         job.options.input);
  }
  return check_outputs({{"--json", json}}, overwrite_if(options.run.force),
                       files_read_beside_inputs(options, jobs));
}

// Creates missing output folders.
Status make_folders(const std::vector<PlannedJob>& jobs) {
  for (const PlannedJob& job : jobs) {
    const fs::path folder = fs::path(job.options.output).parent_path();
    if (job.options.output == "null" || folder.empty()) continue;
    std::error_code error;
    fs::create_directories(folder, error);
    if (error)
      return usage_error("cannot create the folder '{}': {}; choose another with -o", folder.string(),
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
    outcome =
        failure("{} of {} failed; --resume repeats only these", failed, counted(report.jobs.size(), "job"));
  else if (!outcome)
    outcome.error().message += "; continue with --resume";
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
      app.add_subcommand("batch", "Run filter pipelines over many videos, several at the same time");
  verb->group(verb_group::video);
  auto options = std::make_shared<BatchOptions>();
  BatchOptions& o = *options;
  verb->add_option(
          "pipeline_and_inputs", o.words,
          "Pipeline as for `millrace run`, then videos, patterns in quotes ('clips/*.mp4') or generated "
          "clips "
          "(test:WIDTHxHEIGHT[@FRAMES]). With --job-file only a pipeline for the jobs that have none")
      ->option_text("PIPELINE INPUT...")
      ->check(suggest_stages(pipeline_words()));
  verb->add_option(
          "-o,--output", o.output,
          "Output of each job: a name with {stem}, {name}, {dir} or {index}, such as 'out/{stem}.mp4'; with "
          "--suffix a folder; null for no output")
      ->option_text("NAME")
      ->check(CLI::Validator([](const std::string& text) { return text.empty() ? no_output_name : ""; }, ""));
  verb->add_option("--suffix", o.suffix,
                   "Name each output like its input, with this instead of the extension, in the folder of -o "
                   "or beside "
                   "the input")
      ->option_text("SUFFIX");
  add_overwrite_flag(*verb, o.run.force);
  verb->add_flag("--resume", o.resume,
                 "Skip jobs that an earlier batch finished with the same input, pipeline and options");
  verb->add_option("-j,--jobs,--side-by-side", o.side_by_side, "Jobs that run at the same time")
      ->check(between(1, 4096))
      ->default_str("chosen during the run");
  begin_group(*verb, "Jobs");
  verb->add_option("--job-file", o.job_file,
                   "List of jobs: .toml, or one JSON object per line; - for standard input")
      ->option_text("FILE");
  verb->add_option("--memory", o.memory, "Memory that all jobs may use together, such as 2G")
      ->option_text("SIZE")
      ->default_str("half of the available memory");
  verb->add_option("--threads", o.run.threads, "Worker threads of all jobs together")
      ->check(between(1, 4096))
      ->default_str(worker_threads_default);
  begin_group(*verb, "Encoding");
  add_encoding_options(*verb, o.run);
  add_encoder_threads(*verb, o.run, "as for `millrace run`, so that outputs are the same");
  begin_group(*verb, "Input");
  add_part_options(*verb, o.run);
  add_input_flags(*verb, o.run);
  add_damage_option(*verb, o.run);
  verb->add_option("--decoder-threads", o.run.decoder_threads, "Threads of the decoder of each job")
      ->check(between(1, 256))
      ->default_str("by the number of jobs");
  begin_group(*verb, "Filters");
  add_change_option(*verb, o.run);
  add_planes(*verb, o.run);
  begin_group(*verb, "Schedule");
  add_structure_options(*verb, o.run);
  verb->add_flag("--no-profile", o.run.no_profile, no_profile_help);
  verb->add_option("--shared", o.run.shared, shared_help)->option_text("FOLDER");
  verb->add_option("--seed", o.run.seed, "Seed of the schedule search")
      ->check(not_negative())
      ->default_str("1");
  begin_group(*verb, "Progress and reports");
  verb->add_flag("-q,--quiet", o.run.quiet, "Print no progress line and no summary, only failed jobs");
  verb->add_flag("--explain", o.run.explain, "Print which jobs ran at the same time, and why");
  verb->add_option("--json", o.run.json, json_report_help)->option_text("FILE");
  verb->footer("# Shrink every clip of a folder\n"
               "millrace batch 'resize(640)' 'clips/*.mp4' -o 'small/{stem}.mp4'\n"
               "# Go on after an interruption\n"
               "millrace batch 'resize(640)' 'clips/*.mp4' -o 'small/{stem}.mp4' --resume");
  verb->callback([&action, options] {
    action = [options] {
      const Interrupt interrupt;
      return interrupt.told(run_batch(*options, interrupt));
    };
  });
}

}  // namespace millrace::cli
