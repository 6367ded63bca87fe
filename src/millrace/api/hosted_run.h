// HostedRun: a run in a thread of its own, which the caller feeds, empties, watches and stops.
#pragma once

#include "millrace/api/frame_exchange.h"
#include "millrace/api/shared_workplace.h"
#include "millrace/image/pipeline/pipeline.h"
#include "millrace/run/video/frame_processor.h"
#include "millrace/run/video/video_run.h"
#include "millrace/run/video/video_source.h"
#include "millrace/run/words/run_options.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace millrace::api {

// What the frames that come out of a run are: their format, and what goes with them beside their samples.
struct Origin {
  video::FrameFormat format;
  run::FramesOrigin beside;
};

// What millrace.h says of a millrace_run. Any thread may call anything at any time; not copied.
class HostedRun {
 public:
  explicit HostedRun(image::Pipeline pipeline) : pipeline_(std::move(pipeline)) {}
  // After shut_down(), where it was started.
  ~HostedRun() = default;
  HostedRun(const HostedRun&) = delete;
  HostedRun& operator=(const HostedRun&) = delete;

  // Before start(), else a usage error.
  [[nodiscard]] Status set(std::string_view name, std::string_view value);
  [[nodiscard]] Status input(std::string name);
  [[nodiscard]] Status input_frames(const video::FrameFormat& format);
  [[nodiscard]] Status input_frames_like(const Origin& origin);
  [[nodiscard]] Status output(std::string name);
  [[nodiscard]] Status output_frames();

  [[nodiscard]] Status start();
  // Without a thread: each frame is processed by the call of process() that brings it.
  [[nodiscard]] Status start_in_place();
  // After start_in_place(). Views of the planes of one frame, before and after, of the formats of both ends.
  [[nodiscard]] Status process(const std::vector<image::PixelView>& from,
                               const std::vector<image::PixelView>& to);

  // Usage errors before start(), and where that end is not the caller's own.
  [[nodiscard]] Result<video::FrameFormat> output_format();
  // Of the frames that come out; waits as output_format().
  [[nodiscard]] Result<Origin> origin();
  // Where `closed`, the run was over without an error.
  [[nodiscard]] Result<Passed> push(pool::FunctionRef<Status(video::Frame& frame)> fill, Patience patience);
  [[nodiscard]] Status end();
  [[nodiscard]] Result<Passed> pull(pool::FunctionRef<Status(video::Frame& frame)> show, Patience patience);
  // Of the frames that are pushed.
  [[nodiscard]] Result<video::FrameFormat> input_format();

  [[nodiscard]] Result<run::RunProgress> progress();
  [[nodiscard]] Status stop();
  [[nodiscard]] Result<Passed> wait(Patience patience);
  // Valid as long as this object. Usage error before the end.
  [[nodiscard]] Result<const char*> report();
  [[nodiscard]] Result<const char*> explanation();

  // Stops what is under way and waits for its end. The last call but one: destruction.
  void shut_down();

 private:
  // One thread at a time; a second one is refused.
  class Turn;

  [[nodiscard]] Status check_not_started() const;
  [[nodiscard]] Status check_started() const;
  [[nodiscard]] Status check_over() const;
  [[nodiscard]] Result<run::VideoRunOptions> run_options();
  [[nodiscard]] Status check_files() const;
  [[nodiscard]] Status check_start() const;
  [[nodiscard]] Status find_place();
  // Where it is: usage error for a call that is for runs with a thread of their own.
  [[nodiscard]] Status check_not_in_place() const;
  // Ends a run in place, with the mutex of `processing_` held.
  void end_in_place(Status outcome);
  [[nodiscard]] const run::RunRecord& record() const;
  [[nodiscard]] run::VideoSource source();
  [[nodiscard]] run::VideoSink sink();
  void work();
  // Why an exchange is closed: the error of the run, or nothing where it is over without one.
  [[nodiscard]] Result<Passed> why_closed();
  void request_stop();

  const image::Pipeline pipeline_;
  std::shared_ptr<const SharedWorkplace> place_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Before start(), with the mutex held; from then on only read.
  run::RunOptions options_;
  std::unique_ptr<InputFrames> input_;
  run::FramesOrigin input_origin_;  // of what `input_` gets
  std::int64_t start_ = 0;          // what is skipped of the input, in microseconds
  std::unique_ptr<OutputFrames> output_;
  std::unique_ptr<run::VideoRun> video_;  // one of the two
  std::unique_ptr<run::FrameProcessor> in_place_;
  std::stop_source in_place_stop_;
  // With the mutex held:
  bool started_ = false;
  bool stopped_ = false;
  bool over_ = false;
  std::optional<video::FrameFormat> output_format_;
  video::SharedProperties output_properties_;
  Status outcome_;  // once over
  std::optional<std::string> report_;
  std::optional<std::string> explanation_;
  // Acquire and release: what one turn wrote, the next one reads.
  std::atomic<bool> pushing_ = false;
  std::atomic<bool> pulling_ = false;
  // Taken before mutex_: around the frames of a run in place, and its end.
  std::mutex processing_;
  std::thread thread_;
};

}  // namespace millrace::api
