// VideoRun: frames from a source through a pipeline of filters to a sink, with reading, processing and
// writing overlapped.
//
//   const auto machine = machine::inspect_machine();
//   auto workplace = run::Workplace::make(*machine, machine->usable.worker_limit);
//   run::VideoRun video(**workplace, run::file_source("in.mp4"), run::file_sink("out.mkv"),
//                       {.pipeline = *image::load_pipeline("blur | sobel_x")});
//   if (Status done = video.run(); !done) fmt::print("{}\n", done.error().message);
//   fmt::print("{} frames, {:.1f} a second\n", video.record().frames, video.record().fps());
//
// Frames may be the caller's own, at either end:
//
//   run::frames_source(format, [&](const std::stop_token&) { return next_of_mine(); })
//   run::frames_sink([&](const video::Frame& frame) { return keep(frame); })
#pragma once

#include "millrace/run/video/run_record.h"
#include "millrace/run/video/schedule_search.h"
#include "millrace/run/video/video_sink.h"
#include "millrace/run/video/video_source.h"
#include "millrace/run/video/workplace.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

namespace millrace::run {

// How far a run is.
struct RunProgress {
  std::int64_t frames = 0;            // processed and handed to the sink
  std::optional<std::int64_t> total;  // where the source says; may be wrong
};

// What a run is at, for who looks on; of the moment of the call.
struct RunSnapshot {
  RunProgress progress;
  // Seconds since run() was called, and those of them that RunRecord calls so.
  double wall_seconds = 0;
  double compute_seconds = 0;
  double input_wait_seconds = 0;
  double output_wait_seconds = 0;
  const image::Schedule& in_use;
  const image::AdaptiveScheduler* search;  // null: the schedule is fixed
};

// What goes into the record beside sums, see RunRecording.
struct RecordingOptions {
  bool frames = false;    // how long they took, and who computed what of a few
  bool pictures = false;  // with them, what some look like
  bool trace = false;     // with them, what was done when
};

struct VideoRunOptions {
  image::Pipeline pipeline;
  std::optional<VideoSource> second;  // the video that the pipeline calls so, read beside the source
  image::Planes planes = image::Planes::automatic;
  video::SampleForms made{};  // how the samples of the output are held; frames go to a sink that takes such
  std::vector<std::string> changes;  // of parameters, as image::parse_parameter_change reads them
  std::int64_t first_frame = 0;      // the number that the first frame made has in `changes`
  // Frames at the beginning and at the end of the source that are only read: others are made of them too.
  image::NeighbouringFrames around;
  // Fixed, or found within a freedom while the run goes on. By default found among all that fits the
  // workplace.
  std::variant<std::monostate, image::Schedule, SearchOptions> schedule;
  std::optional<std::int64_t> frames;  // at most so many
  // The first frame that is shown at that time or later, and the last before; microseconds from the first
  // frame of the source on.
  std::optional<std::int64_t> start;
  std::optional<std::int64_t> end;
  int passes = 1;  // over the source
  video::OnDamage on_damage = video::OnDamage::stop;
  bool autorotate = true;                 // as of video::ReaderOptions
  std::optional<video::Samples> samples;  // as of video::ReaderOptions
  // Filters that mix rows may be applied to interlaced video: it is not, whatever it says.
  bool treat_as_progressive = false;
  // Whether sound goes from file to file, as subtitles, data, chapters and metadata do.
  bool audio = true;
  // Where none are given, as many as choose_codec_threads() says.
  std::optional<int> decoder_threads;
  std::optional<int> encoder_threads;
  video::WriterOptions writer;  // without threads, `keep_part` and `stop`
  std::stop_token stop;         // as stop()
  // Whether the output of a run that is stopped or fails stays as far as it got; else there is none.
  bool keep_part = true;
  // Called when the inputs are open and the pipeline fits them, before the output is opened; what it refuses
  // the run refuses.
  std::function<Status()> check_output;
  std::int64_t start_ns = 0;  // what first_frame_seconds count from, by now_ns(); 0: run()
  // Called after every few frames by the thread that runs; it is to return soon.
  std::function<void(const RunProgress&, const image::Schedule&)> on_progress;
  // The same for who wants to know more.
  std::function<void(const RunSnapshot&)> on_turn;
  RecordingOptions recording;
};

// That there may be at any time, in a workplace of so many threads.
[[nodiscard]] int most_frames_in_flight(const VideoRunOptions& options, int threads);

// Used by the thread that made the workplace, or by any one thread where the workplace is for several runs at
// the same time; but for what says otherwise.
class VideoRun {
 public:
  // The workplace must outlive the run. Nothing is opened yet.
  VideoRun(Workplace& workplace, VideoSource source, VideoSink sink, VideoRunOptions options);
  VideoRun(const VideoRun&) = delete;
  VideoRun& operator=(const VideoRun&) = delete;

  // Runs to the end; once. Nothing is left running behind it. Of usage kind where what is asked for is
  // impossible: then nothing was written. Where it fails on the way, or is stopped (kind `interrupted`), the
  // sink has what was processed up to there, complete and in order, or nothing (VideoRunOptions::keep_part).
  // A source without any frame is a failure.
  [[nodiscard]] Status run();

  // Makes run() end soon, after the frames at hand; where the output is a pipe whose reader takes nothing, in
  // some seconds, and without those that have no room in it. Any thread, at any time.
  void stop() { stop_.request_stop(); }
  // Any thread, at any time.
  [[nodiscard]] RunProgress progress() const;
  // After run(), also where it failed.
  [[nodiscard]] const RunRecord& record() const { return record_; }

 private:
  friend class FrameLoop;

  Workplace& workplace_;
  VideoSource source_;
  VideoSink sink_;
  VideoRunOptions options_;
  std::stop_source stop_;
  // Relaxed: counts for display, they publish nothing. The total is below 0 where it is not known.
  std::atomic<std::int64_t> frames_ = 0;
  std::atomic<std::int64_t> total_ = -1;
  RunRecord record_;
};

}  // namespace millrace::run
