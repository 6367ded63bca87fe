// HostedRun: a run in its own thread that the caller feeds, drains, watches and stops.
#pragma once

#include "millrace/api/frame_exchange.h"
#include "millrace/api/shared_context.h"
#include "millrace/image/pipeline/pipeline.h"
#include "millrace/run/options/run_options.h"
#include "millrace/run/video/frame_processor.h"
#include "millrace/run/video/video_run.h"
#include "millrace/run/video/video_source.h"

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

// Format of a run's output frames and the properties that go with them.
struct Origin {
  video::FrameFormat format;
  run::FramesOrigin beside;
};

// Implements millrace_run of millrace.h. Thread-safe; not copyable.
class HostedRun {
 public:
  explicit HostedRun(image::Pipeline pipeline) : pipeline_(std::move(pipeline)) {}
  // If the run was started, call shut_down() first.
  ~HostedRun() = default;
  HostedRun(const HostedRun&) = delete;
  HostedRun& operator=(const HostedRun&) = delete;

  // Usage error after start().
  [[nodiscard]] Status set(std::string_view name, std::string_view value);
  [[nodiscard]] Status input(std::string name);
  [[nodiscard]] Status input_frames(const video::FrameFormat& format);
  [[nodiscard]] Status input_frames_like(const Origin& origin);
  [[nodiscard]] Status output(std::string name);
  [[nodiscard]] Status output_frames();

  [[nodiscard]] Status start();
  // Creates no thread: each frame is processed inside its call of process().
  [[nodiscard]] Status start_in_place();
  // Only after start_in_place(). Views of the planes of one frame before and after, in the formats of input
  // and output.
  [[nodiscard]] Status process(const std::vector<image::PixelView>& from,
                               const std::vector<image::PixelView>& to);

  // Push, pull and format calls are usage errors before start(), or if that end is not frames of the caller.
  [[nodiscard]] Result<video::FrameFormat> output_format();
  // Origin of the output frames. Waits like output_format().
  [[nodiscard]] Result<Origin> origin();
  // `closed`: the run has ended without an error.
  [[nodiscard]] Result<Passed> push(pool::FunctionRef<Status(video::Frame& frame)> fill, Patience patience);
  [[nodiscard]] Status end();
  [[nodiscard]] Result<Passed> pull(pool::FunctionRef<Status(video::Frame& frame)> show, Patience patience);
  // Format of the frames that are pushed.
  [[nodiscard]] Result<video::FrameFormat> input_format();

  [[nodiscard]] Result<run::RunProgress> progress();
  [[nodiscard]] Status stop();
  [[nodiscard]] Result<Passed> wait(Patience patience);
  // Valid as long as this object. Usage error before the end of the run.
  [[nodiscard]] Result<const char*> report();
  [[nodiscard]] Result<const char*> explanation();

  // Stops the run and waits for its end. A start that another thread has begun is refused from now on. Only
  // destruction and calls that other threads have begun may follow.
  void shut_down();

 private:
  // Admits one thread at a time and refuses a second one.
  class Turn;

  [[nodiscard]] Status check_not_started() const;
  [[nodiscard]] Status check_started() const;
  [[nodiscard]] Status check_over() const;
  [[nodiscard]] Result<run::VideoRunOptions> run_options();
  [[nodiscard]] Status check_files() const;
  [[nodiscard]] Status check_start() const;
  [[nodiscard]] Status find_place();
  // Usage error if the run was started in place: the call is for runs with their own thread.
  [[nodiscard]] Status check_not_in_place() const;
  // Ends an in-place run. Call with the mutex `processing_` held.
  void end_in_place(Status outcome);
  [[nodiscard]] const run::RunRecord& record() const;
  [[nodiscard]] run::VideoSource source();
  [[nodiscard]] run::VideoSink sink();
  void work();
  // Why an exchange is closed: the run's error, or Passed if it ended without one.
  [[nodiscard]] Result<Passed> why_closed();
  void request_stop();

  const image::Pipeline pipeline_;
  std::shared_ptr<const SharedContext> place_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Written before start() with the mutex held; read-only afterwards.
  run::RunOptions options_;
  std::unique_ptr<InputFrames> input_;
  run::FramesOrigin input_origin_;  // origin of the frames in `input_`
  std::int64_t start_ = 0;          // start of the trim of the input, in microseconds
  std::unique_ptr<OutputFrames> output_;
  std::unique_ptr<run::VideoRun> video_;  // either this or in_place_
  std::unique_ptr<run::FrameProcessor> in_place_;
  std::stop_source in_place_stop_;
  // Guarded by the mutex:
  bool started_ = false;
  bool stopped_ = false;
  bool freed_ = false;  // see shut_down()
  bool over_ = false;
  std::optional<video::FrameFormat> output_format_;
  video::SharedProperties output_properties_;
  Status outcome_;  // set at the end
  std::optional<std::string> report_;
  std::optional<std::string> explanation_;
  // Acquire and release: one turn sees the writes of the previous one.
  std::atomic<bool> pushing_ = false;
  std::atomic<bool> pulling_ = false;
  // Locked before mutex_. Held while an in-place run processes a frame, and at its end.
  std::mutex processing_;
  std::thread thread_;
};

}  // namespace millrace::api
