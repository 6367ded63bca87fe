#include "millrace/cli/run/run_command.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/file/json_file.h"
#include "millrace/base/file/whole_file.h"
#include "millrace/base/options/progress_line.h"
#include "millrace/base/text/error_line.h"
#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/print.h"
#include "millrace/cli/command/video_options.h"
#include "millrace/cli/run/computation.h"
#include "millrace/cli/run/live_screen.h"
#include "millrace/cli/run/run_watcher.h"
#include "millrace/image/pipeline/presets.h"
#include "millrace/report/run/run_page.h"
#include "millrace/run/options/check_outputs.h"
#include "millrace/run/video/run_recorder.h"
#include "millrace/run/video/video_run.h"
#include "millrace/video/writer.h"

#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace millrace::cli {
namespace {

run::WorkerLimit limit_of(const machine::MachineReport& machine) {
  return {machine.topology, machine.usable, machine.usable.worker_limit};
}

Status stream_run(const RunRequest& request, run::VideoRunOptions run_options, std::int64_t start_ns,
                  run::RunReport& report) {
  const run::RunOptions& options = request.options;
  run_options.planes = request.planes;
  run_options.stop = request.interrupt.token();
  run_options.start_ns = start_ns;
  run_options.check_output = [&options] { return check_outputs(options); };
  run_options.recording = {.frames =
                               !options.json.empty() || !options.report.empty() || !options.trace.empty(),
                           .pictures = !options.report.empty(),
                           .trace = !options.trace.empty()};
  std::unique_ptr<LiveScreen> screen;
  std::optional<RunWatcher> watcher;
  if (options.live) {
    auto opened = LiveScreen::open();
    if (!opened) return std::unexpected(opened.error());
    screen = *std::move(opened);
    watcher.emplace(*screen, options, request.context.machine().usable.worker_limit);
    run_options.on_batch = [&watcher](const run::RunSnapshot& snapshot) { watcher->look(snapshot); };
  }
  ProgressLine line(!options.quiet && !options.live, {.plural = "frames"});
  run_options.on_progress = [&line](const run::RunProgress& progress, const image::Schedule& schedule) {
    line.update(progress.frames, progress.total, to_string(schedule));
  };
  run::VideoRun video(request.context, run::file_source(options.input), run::file_sink(options.output),
                      std::move(run_options));
  const Status outcome = video.run();
  line.clear();
  screen.reset();
  report.record = video.record();
  if (!options.quiet) {
    for (const std::string& warning : report.record.warnings)
      print_error("millrace", warning);
  }
  return outcome;
}

// Writes as many of the reports as possible; returns the first failure.
Status write_accounts(const run::RunOptions& options, const run::RunReport& report,
                      const machine::MachineReport& machine) {
  if (options.json.empty() && options.report.empty() && options.trace.empty()) return {};
  const Overwrite overwrite = overwrite_if(options.force);
  const auto json = to_json(report, machine);
  Status all;
  const auto write = [&](const std::string& path, auto&& act) {
    if (path.empty()) return;
    Status written = act();
    if (!written && all) all = std::move(written);
  };
  const auto write_text = [&](const std::string& path, const std::string& text) {
    Status written = write_whole(path, text, {.overwrite = overwrite, .durable = false});
    if (written && !options.quiet && report.ended_early.empty()) print_note("wrote {}\n", printable(path));
    return written;
  };
  write(options.json, [&] { return write_json(json, options.json, overwrite); });
  write(options.report, [&]() -> Status {
    if (report.record.frames == 0) return {};  // a page needs times of frames
    const auto page = report::run_page_of(json, options.report);
    if (!page) return std::unexpected(page.error());
    return write_text(options.report, *page);
  });
  write(options.trace, [&]() -> Status {
    if (!report.record.recording || !report.record.recording->trace) return {};
    return write_text(options.trace, report.record.recording->trace->to_json(report.pipeline));
  });
  return all;
}

// Run options for a run from input to output, if there is one.
Result<run::VideoRunOptions> read_words(const run::RunOptions& options, const image::Pipeline& pipeline,
                                        const run::WorkerLimit& limit) {
  if (options.measure || options.count) return run::VideoRunOptions();
  auto words = video_run_options_of(options, pipeline, limit);
  if (!words || options.output.empty()) return words;
  if (Status kind = video::check_output_kind(options.output, words->writer); !kind)
    return std::unexpected(kind.error());
  return words;
}

// Options first, then inputs, then outputs, so that errors are reported in the order of typing.
Status run_pipeline(const run::RunOptions& options, const Interrupt& interrupt) {
  const std::int64_t start = now_ns();
  if (Status possible = check_computation(options); !possible) return possible;
  const auto pipeline = image::load_pipeline(options.pipeline, interrupt.token());
  if (!pipeline) return std::unexpected(pipeline.error());
  const auto planes = planes_of(options);
  if (!planes) return std::unexpected(planes.error());
  const auto machine = machine::inspect_machine();
  if (!machine) return std::unexpected(machine.error());
  const auto schedule = schedule_of(options, limit_of(*machine));
  if (!schedule) return std::unexpected(schedule.error());
  auto words = read_words(options, *pipeline, limit_of(*machine));
  if (!words) return std::unexpected(words.error());

  auto cache = run::kernel_cache_of(options);
  if (!cache) return std::unexpected(cache.error());
  const auto context = run::ExecutionContext::make(*machine, schedule->threads, *std::move(cache));
  if (!context) return std::unexpected(context.error());
  const RunRequest request{options, *pipeline, *planes, *schedule, **context, interrupt};
  if (options.count) return count_run(request);  // needs no compiled kernels

  run::RunReport report{.pipeline = image::to_string(*pipeline),
                        .input = options.input,
                        .second = options.second,
                        .output = options.output.empty() ? "null" : options.output,
                        .command = run::own_command(),
                        .graph = *pipeline,
                        .explain = options.explain};
  const Status outcome =
      options.measure ? measure_run(request, report) : stream_run(request, *std::move(words), start, report);
  report.peak_rss_bytes = run::peak_rss_bytes();
  if (!outcome) report.ended_early = outcome.error().message;
  const bool has_frames = report.record.frames > 0;
  // Also report a run that failed after it began to write.
  if (has_frames || (!options.measure && report.record.wall_seconds > 0)) {
    if (!options.quiet && has_frames) print_note("{}", to_text(report));
    const Status written = write_accounts(options, report, *machine);
    if (!written && outcome) return written;
    if (!written) print_error("millrace", written.error().message);
  }
  return outcome;
}

}  // namespace

void add_run_command(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("run", "Run a filter pipeline over a video");
  verb->group(verb_group::video);
  auto options = std::make_shared<run::RunOptions>();
  run::RunOptions& o = *options;
  o.output.clear();
  verb->add_option("pipeline", o.pipeline, pipeline_help)
      ->required()
      ->check(suggest_stages(pipeline_words()));
  verb->add_option("input", o.input,
                   "Video file, - for y4m on standard input, or a generated clip: test:WIDTHxHEIGHT[@FRAMES]")
      ->required();
  verb->add_option("second", o.second, "Second video, which the pipeline calls 'second'");
  verb->add_option(
          "-o,--output", o.output,
          "Output, required except with --measure and --count: .mp4, .mkv, .mov, .webm, .gif, .y4m or .yuv; "
          "pictures NAME%04d.png; - for y4m on standard output; null for no output")
      ->option_text("FILE");
  add_overwrite_flag(*verb, o.force);
  add_encoding_options(*verb, o);
  add_encoder_threads(*verb, o, "one for each usable CPU; from 8 CPUs on, 1.5 times as many, up to 64");
  begin_group(*verb, "Input");
  add_part_options(*verb, o);
  add_input_flags(*verb, o);
  add_damage_option(*verb, o);
  verb->add_option("--decoder-threads", o.decoder_threads, "Threads of the decoder")
      ->check(between(1, 256))
      ->default_str("one for each usable CPU, up to 8");
  begin_group(*verb, "Filters");
  add_change_option(*verb, o);
  add_planes(*verb, o, "auto; all with --measure");
  begin_group(*verb, "Schedule");
  verb->add_option("--threads", o.threads, "Worker threads")
      ->check(between(1, 4096))
      ->default_str(worker_threads_default);
  verb->add_option(
          "--objective", o.objective,
          "Goal of the schedule search. throughput: frames per second; latency: the 99th percentile of the "
          "time from reading a frame to writing it")
      ->option_text("NAME")
      ->check(one_of_many({"throughput", "latency"}, {"deadline"}))
      ->default_str("throughput; latency for pipes");
  verb->add_option("--deadline", o.deadline_ms,
                   "Finish every frame within this time, with as few threads as possible")
      ->option_text("MS")
      ->check(above_zero());
  add_structure_options(*verb, o);
  verb->add_option("--frames-in-flight", o.frames_in_flight, "Frames that are processed at the same time")
      ->check(between(1, 4096))
      ->default_str("searched during the run");
  verb->add_option(
          "--affinity", o.affinity,
          "CPUs of the threads. free: any; pinned: one each; io-same, io-diff, module-diff: by their "
          "distance from the I/O thread")
      ->option_text("NAME")
      ->check(one_of_many(names_of(machine::all_affinity_arrangements)))
      ->default_str("searched during the run");
  verb->add_flag("--fresh-threads", o.fresh_threads, "Create new threads for every stage, as a baseline");
  verb->add_flag("--no-profile", o.no_profile, no_profile_help);
  verb->add_option("--shared", o.shared, shared_help)->option_text("FOLDER");
  verb->add_option("--seed", o.seed, "Seed of the schedule search")->check(not_negative())->default_str("1");
  begin_group(*verb, "Progress and reports");
  verb->add_flag("-q,--quiet", o.quiet, "Print no progress line and no summary");
  verb->add_flag("--live", o.live, "Show frame rate, bottleneck, trials and workers on the whole terminal");
  verb->add_flag("--explain", o.explain,
                 "Print the schedules that were tried, their times, and the reason of the choice");
  verb->add_option("--json", o.json, json_report_help)->option_text("FILE");
  verb->add_option("--report", o.report, "Write an HTML page about the run")->option_text("FILE");
  verb->add_option("--trace", o.trace,
                   "Write a timeline of the workers (JSON) for chrome://tracing or ui.perfetto.dev")
      ->option_text("FILE");
  begin_group(*verb, "Measurement of the filters alone");
  verb->add_flag("--measure", o.measure, "Time the filters on frames in memory, without decoder and encoder");
  verb->add_option("--repeat", o.repeat, "Passes of --measure over its frames")
      ->check(between(1, 1 << 20))
      ->default_str("10");
  verb->add_flag(
      "--fresh-input", o.fresh_input,
      "Write the pixels of each frame just before it is processed, for --measure; with --affinity on the CPU "
      "of the I/O thread");
  verb->add_flag("--count", o.count, "Count the pixels that each stage reads in the first frame, and stop");
  verb->footer("# Find edges in a generated clip\n"
               "millrace run @A test:640x480@100 -o edges.mp4\n"
               "# Blur a part of a video\n"
               "millrace run 'gaussian(3)' in.mp4 -o out.mp4 --start 1:00 --end 1:30");
  verb->callback([&action, options] {
    action = [options] {
      const Interrupt interrupt;
      return interrupt.told(run_pipeline(*options, interrupt));
    };
  });
}

}  // namespace millrace::cli
