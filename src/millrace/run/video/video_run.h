// VideoRun: passes frames from a source through a pipeline of filters to a sink. Reading, processing and
// writing overlap.
//
//   const auto machine = machine::inspect_machine();
//   auto context = run::ExecutionContext::make(*machine, machine->usable.worker_limit);
//   run::VideoRun video(**context, run::file_source("in.mp4"), run::file_sink("out.mkv"),
//                       {.pipeline = *image::load_pipeline("blur | sobel_x")});
//   if (Status done = video.run(); !done) fmt::print("{}\n", done.error().message);
//   fmt::print("{} frames, {:.1f} a second\n", video.record().frames, video.record().fps());
//
// Frames can come from the caller and go to the caller:
//
//   run::frames_source(format, [&](const std::stop_token&) { return next_of_mine(); })
//   run::frames_sink([&](const video::Frame& frame) { return keep(frame); })
#pragma once

#include "millrace/run/video/execution_context.h"
#include "millrace/run/video/run_control.h"
#include "millrace/run/video/run_record.h"
#include "millrace/run/video/schedule_search.h"
#include "millrace/run/video/video_sink.h"
#include "millrace/run/video/video_source.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

namespace millrace::run {

// State of a run at the moment of the call, for displays.
struct RunSnapshot {
  RunProgress progress;
  // Seconds since run() was called, and the parts of them named as in RunRecord.
  double wall_seconds = 0;
  double compute_seconds = 0;
  double input_wait_seconds = 0;
  double output_wait_seconds = 0;
  const image::Schedule& in_use;
  const image::AdaptiveScheduler* search;  // null: the schedule is fixed
};

// Optional details in the record, see RunRecording.
struct RecordingOptions {
  bool frames = false;    // times per frame, and kernel calls of single frames
  bool pictures = false;  // also thumbnails of some of these frames
  bool trace = false;     // also a timeline
};

struct VideoRunOptions {
  image::Pipeline pipeline;
  std::optional<VideoSource> second;  // the pipeline's second video, read in step with the source
  image::Planes planes = image::Planes::automatic;
  video::SampleForms made{};         // sample formats of the output, for sinks that accept several
  std::vector<std::string> changes;  // parameter changes in the syntax of image::parse_parameter_change
  std::int64_t first_frame = 0;      // number, in `changes`, of the first frame produced
  // Frames at the beginning and the end of the source that are only read because output frames depend on
  // them.
  image::NeighbouringFrames around;
  // Fixed, or searched within limits during the run. By default the search covers everything that fits the
  // execution context.
  std::variant<std::monostate, image::Schedule, SearchOptions> schedule;
  std::optional<std::int64_t> frames;  // maximum number of frames
  // Trim: first frame shown at `start` or later, last frame before `end`. Microseconds from the first frame
  // of the source.
  std::optional<std::int64_t> start;
  std::optional<std::int64_t> end;
  int passes = 1;  // number of times to read the source
  video::OnDamage on_damage = video::OnDamage::stop;
  bool autorotate = true;                 // as in video::ReaderOptions
  std::optional<video::Samples> samples;  // as in video::ReaderOptions
  // Ignore the interlaced flag, so that filters that mix rows are accepted.
  bool treat_as_progressive = false;
  // Whether the output file gets the sound too. It always gets subtitles, data, chapters and metadata.
  bool audio = true;
  // Default: choose_codec_threads().
  std::optional<int> decoder_threads;
  std::optional<int> encoder_threads;
  video::WriterOptions writer;  // without threads, `keep_part` and `stop`
  std::stop_token stop;         // stops the run like stop()
  // Whether the output of a stopped or failed run is kept as far as it got. Otherwise it is removed.
  bool keep_part = true;
  // Called when the inputs are open and the pipeline fits them, before the output is opened. Its error fails
  // the run.
  std::function<Status()> check_output;
  std::int64_t start_ns = 0;  // origin of first_frame_seconds, by now_ns(); 0: the call of run()
  // Called after each batch of frames by the run's thread. It must return soon.
  std::function<void(const RunProgress&, const image::Schedule&)> on_progress;
  // The same with more details.
  std::function<void(const RunSnapshot&)> on_batch;
  RecordingOptions recording;
};

// Upper bound during the run, in an execution context with this many threads.
[[nodiscard]] int most_frames_in_flight(const VideoRunOptions& options, int threads);

// Used by the thread that created the execution context; if the context is shared, by any one thread.
// Exceptions are noted below.
class VideoRun {
 public:
  // The execution context must outlive the run. Opens nothing yet.
  VideoRun(ExecutionContext& context, VideoSource source, VideoSink sink, VideoRunOptions options);
  VideoRun(const VideoRun&) = delete;
  VideoRun& operator=(const VideoRun&) = delete;

  // Runs to the end, once. Leaves nothing running. Usage error if the request is impossible; nothing was
  // written then. If the run fails or is stopped (`interrupted`), the sink has all frames processed so far,
  // complete and in order, or nothing: see VideoRunOptions::keep_part. A source without frames is a failure.
  [[nodiscard]] Status run();

  // Ends run() soon, after the current frames. If the output is a pipe that is not being read, this takes
  // some seconds and drops frames that do not fit. Any thread, at any time.
  void stop() { control_.stop(); }
  // Any thread, at any time.
  [[nodiscard]] RunProgress progress() const { return control_.progress(); }
  // Valid after run(), even if it failed.
  [[nodiscard]] const RunRecord& record() const { return record_; }

 private:
  ExecutionContext& context_;
  VideoSource source_;
  VideoSink sink_;
  VideoRunOptions options_;
  RunControl control_;
  RunRecord record_;
};

}  // namespace millrace::run
