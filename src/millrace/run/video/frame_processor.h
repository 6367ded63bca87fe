// FrameProcessor: a pipeline over frames in memory, without a thread, a queue or a copy between.
#pragma once

#include "millrace/run/video/pipeline_runner.h"
#include "millrace/run/video/run_record.h"
#include "millrace/run/video/video_run.h"
#include "millrace/run/video/workplace.h"
#include "millrace/video/frame/frame.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace millrace::run {

// What a VideoRun is for frames that come from somewhere, this is for a caller who has a frame in memory and
// wants its result: each is processed by the call that brings it, on the workers of the workplace. The search
// for the best schedule goes on over the calls. One call at a time, by any thread where the workplace is for
// several runs at the same time.
class FrameProcessor {
 public:
  // Of the options those on the pipeline, its planes and changes, the schedule, and the stop, which ends a
  // process() under way soon, as interrupted; the processor is of no use then. The workplace must outlive the
  // result. Usage error where what is asked for is impossible.
  [[nodiscard]] static Result<std::unique_ptr<FrameProcessor>>
  start(Workplace& workplace, const video::FrameFormat& input, VideoRunOptions options);

  [[nodiscard]] const video::FrameFormat& input_format() const { return runner_.layout().input; }
  [[nodiscard]] const video::FrameFormat& output_format() const { return runner_.layout().output; }

  // One frame: a view of each plane, of any stride. No sample is above what the format says. Read and written
  // where they are, but for what kernels cannot take, and results that lie over a source: then there is a
  // copy.
  [[nodiscard]] Status process(const std::vector<image::PixelView>& from,
                               const std::vector<image::PixelView>& to);

  // Any thread, at any time.
  [[nodiscard]] std::int64_t frames() const { return frames_.load(std::memory_order_relaxed); }
  // How many planes were copied on their way in or out.
  [[nodiscard]] std::int64_t copies() const { return copies_; }

  // Keeps what was learnt and fills in the record; after the last frame, once.
  void finish();
  [[nodiscard]] const RunRecord& record() const { return record_; }

 private:
  FrameProcessor(Workplace& workplace, VideoRunOptions options);

  [[nodiscard]] Status lay_out(const video::FrameFormat& input);
  // The planes as kernels can take them: themselves, or room of one's own where they cannot.
  [[nodiscard]] Status take_in(const std::vector<image::PixelView>& from);
  [[nodiscard]] Status make_room(const std::vector<image::PixelView>& to);

  const VideoRunOptions options_;
  PipelineRunner runner_;
  std::vector<bool> gathered_;  // planes that a kernel may read a little beyond their end, see Kernel::run
  image::FrameTask task_;
  // Where planes are copied; made when needed.
  std::optional<video::Frame> own_input_;
  std::optional<video::Frame> own_output_;
  std::atomic<std::int64_t> frames_ = 0;  // relaxed: a count for display, publishes nothing
  std::int64_t copies_ = 0;
  std::int64_t wall_ns_ = 0;
  RunRecord record_;
};

}  // namespace millrace::run
