#include "millrace/cli/run/run_command.h"

#include "millrace/base/clock.h"
#include "millrace/base/command_line.h"
#include "millrace/base/error_line.h"
#include "millrace/base/in_quotes.h"
#include "millrace/base/json_file.h"
#include "millrace/base/print.h"
#include "millrace/base/progress_line.h"
#include "millrace/base/whole_file.h"
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
  write(options.json, [&] { return write_json(json, options.json, overwrite); });
  write(options.report, [&]() -> Status {
    if (report.record.frames == 0) return {};  // a page needs times of frames
    const auto page = report::run_page_of(json, options.report);
    if (!page) return std::unexpected(page.error());
    return write_whole(options.report, *page, {.overwrite = overwrite, .durable = false});
  });
  write(options.trace, [&]() -> Status {
    if (!report.record.recording || !report.record.recording->trace) return {};
    return write_whole(options.trace, report.record.recording->trace->to_json(report.pipeline),
                       {.overwrite = overwrite, .durable = false});
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
  auto options = std::make_shared<run::RunOptions>();
  run::RunOptions& o = *options;
  o.output.clear();
  verb->add_option("pipeline", o.pipeline, "pipeline language, a preset @A to @G, or a .toml file")
      ->required();
  verb->add_option("input", o.input,
                   "a video file, - for y4m on standard input, or test:WIDTHxHEIGHT[@FRAMES]")
      ->required();
  verb->add_option("second", o.second, "a second video, which the pipeline calls 'second'");
  verb->add_option("-o,--output", o.output,
                   "NAME.mp4, .mkv, .mov, .webm, .gif, .y4m or .yuv, pictures NAME%04d.png, - for y4m on "
                   "standard output, or null to keep nothing; required but with --measure and --count");
  verb->add_flag(overwrite_flag, o.force, overwrite_help);
  verb->add_option(
      "--structure", o.structure,
      "sequential, backward, backward-store, backward-cached, tiled, sliding; where neither this nor "
      "--tile is given, the best schedule is found while the run goes on");
  verb->add_option("--fusion", o.fusion, "which stages become one kernel: none, pointwise, stencil, all");
  verb->add_option("--tile", o.tile,
                   "WIDTHxHEIGHT of a tile (of a granule for backward-cached); 0 for all of a side");
  verb->add_option("--threads", o.threads,
                   "worker threads; default: as many as this process may use, and --affinity has CPUs for")
      ->check(CLI::Range(1, 4096));
  verb->add_option("--frames-in-flight", o.frames_in_flight, "whole frames side by side")
      ->check(CLI::Range(1, 4096));
  verb->add_option("--affinity", o.affinity, "free, pinned, io-same, io-diff, module-diff");
  verb->add_option("--isa", o.isa, "baseline, sse41, avx2, avx512; default: the best there is");
  verb->add_flag("--fresh-threads", o.fresh_threads,
                 "make the threads anew for every stage (the classical baseline)");
  verb->add_option("--objective", o.objective,
                   "what best means: throughput (default for files) or latency (default for pipes: the 99th "
                   "percentile of the time from a frame read to the frame handed to the output)");
  verb->add_option("--deadline", o.deadline_ms,
                   "MS in which a frame must be done: the fewest threads that keep it are best")
      ->check(above_zero());
  verb->add_flag("--explain", o.explain, "print what was tried, what it measured, what was chosen and why");
  verb->add_flag("--no-profile", o.no_profile,
                 "neither use nor keep what runs learn, nor the kernels they compile");
  verb->add_option("--shared", o.shared, "as of millrace chunk");
  verb->add_option("--seed", o.seed, "of the search's random choices")->check(not_negative());
  verb->add_option(
          "--at", o.changes,
          "FRAME:STAGE.PARAMETER=VALUE changes a parameter from that frame on; FRAME..FRAME in equal "
          "steps; may be repeated")
      ->take_all();
  verb->add_option(
      "--planes", o.planes,
      "what filters do to chroma. auto (default): what each declares (millrace filters), so that "
      "edges are gray; all: the same as to luma (default with --measure); luma: nothing, but for "
      "the geometric ones");
  verb->add_option(
      "--on-damage", o.on_damage,
      "stop: end with an error behind the last good frame (default); skip: leave out what is damaged, "
      "go on with the next frame that refers to none of it, and say how many are missing");
  verb->add_option("--frames", o.frames, "stop after so many frames")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  verb->add_option("--loop", o.loop, "read the input so many times")->check(CLI::Range(1, 1 << 30));
  verb->add_flag("--no-audio", o.no_audio, "leave sound out of the output");
  verb->add_flag("--count", o.count,
                 "count the pixels each stage reads, in the first frame's luma, instead of running");
  verb->add_flag("--measure", o.measure, "time computation alone, on frames preloaded in memory as floats");
  verb->add_flag(
      "--fresh-input", o.fresh_input,
      "with --measure: write each frame's pixels right before it is computed, by the calling thread "
      "or, with --affinity, by a thread of its own where that puts the I/O thread");
  verb->add_option("--repeat", o.repeat, "how often --measure processes its frames")
      ->check(CLI::Range(1, 1 << 20));
  verb->add_option("--json", o.json, "write a report to a file, or - for standard output");
  verb->add_option("--report", o.report, "write a page (HTML) that shows what was done and why to this file");
  verb->add_option("--trace", o.trace,
                   "write what each worker did when, for chrome://tracing or ui.perfetto.dev: NAME.json");
  verb->add_flag(
      "--live", o.live,
      "show on the whole terminal what the run is at: frames a second, what bounds it, trials, workers");
  verb->add_option("--codec", o.codec,
                   "h264 (default for .mp4, .mov and .mkv), h265, av1, vp9 (default for .webm), ffv1 "
                   "(lossless, .mkv), prores, gif, rawvideo");
  verb->add_option("--crf", o.crf,
                   "quality of h264, h265 (0 to 51), av1 and vp9 (0 to 63); smaller is better");
  verb->add_option("--preset", o.preset,
                   "of the encoder, size against time: veryfast, slow, ...; av1 0 to 13, vp9 0 to 8");
  verb->add_option("--bitrate", o.bitrate, "bits a second, as 800k or 5M, in the place of --crf");
  verb->add_option("--encoder-options", o.encoder_options,
                   "NAME=VALUE,... of FFmpeg's encoder; may be repeated")
      ->take_all();
  verb->add_option(
      "--format", o.format,
      "of the output's samples: gray, yuv420p to yuv444p16, nv12, p010, rgb24, gbrp16; default: as "
      "the input has them");
  verb->add_option("--start", o.start,
                   "TIME from which on frames are taken, from the first one on: 12.5 or 0:01:30.25");
  verb->add_option("--end", o.end, "TIME before which the last frame is shown");
  verb->add_flag("--no-autorotate", o.no_autorotate,
                 "leave frames as they are stored, and the way to turn them to the player");
  verb->add_flag("--treat-as-progressive", o.treat_as_progressive,
                 "take video that calls itself interlaced for such that is not");
  verb->add_option("--decoder-threads", o.decoder_threads,
                   "threads of the decoder; default: as many as this process may use, up to 8")
      ->check(CLI::Range(1, 256));
  verb->add_option("--encoder-threads", o.encoder_threads,
                   "threads of the encoder; default: as many as this process may use, from 8 on half as many "
                   "again, up to 64")
      ->check(CLI::Range(1, 256));
  verb->add_flag("-q,--quiet", o.quiet, "no progress line and no summary");
  verb->callback([&action, options] {
    action = [options] {
      const Interrupt interrupt;
      return interrupt.told(run_pipeline(*options, interrupt));
    };
  });
}

}  // namespace millrace::cli
