// FrameProcessor: applies a pipeline to frames in memory, without a thread, a queue or a copy in between.
#pragma once

#include "millrace/run/video/execution_context.h"
#include "millrace/run/video/pipeline_runner.h"
#include "millrace/run/video/run_record.h"
#include "millrace/run/video/video_run.h"
#include "millrace/video/frame/frame.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace millrace::run {

// The counterpart of VideoRun for a caller that has a frame in memory and wants its result. Each call
// processes one frame on the workers of the execution context. The schedule search continues across calls.
// One call at a time; any thread may call if the context is shared between runs.
class FrameProcessor {
 public:
  // Uses only the options for the pipeline, its planes and changes, the schedule, and the stop. The stop soon
  // ends an active process() as interrupted; the processor is unusable afterwards. The execution context must
  // outlive the result. Usage error if the request is impossible.
  [[nodiscard]] static Result<std::unique_ptr<FrameProcessor>>
  start(ExecutionContext& context, const video::FrameFormat& input, VideoRunOptions options);

  [[nodiscard]] const video::FrameFormat& input_format() const { return runner_.layout().input; }
  [[nodiscard]] const video::FrameFormat& output_format() const { return runner_.layout().output; }

  // Processes one frame, given a view of each plane with any stride. No sample may exceed the format's
  // maximum. Planes are read and written in place. They are copied only if kernels cannot take them, or if
  // results overlap a source.
  [[nodiscard]] Status process(const std::vector<image::PixelView>& from,
                               const std::vector<image::PixelView>& to);

  // Any thread, at any time.
  [[nodiscard]] std::int64_t frames() const { return frames_.load(std::memory_order_relaxed); }
  // Number of planes copied on their way in or out.
  [[nodiscard]] std::int64_t copies() const { return copies_; }

  // Saves what the search learned and fills in the record. Call it once, after the last frame.
  void finish();
  [[nodiscard]] const RunRecord& record() const { return record_; }

 private:
  FrameProcessor(ExecutionContext& context, VideoRunOptions options);

  [[nodiscard]] Status lay_out(const video::FrameFormat& input);
  // Planes that kernels can take: the caller's own, or copies.
  [[nodiscard]] Status take_in(const std::vector<image::PixelView>& from);
  [[nodiscard]] Status make_room(const std::vector<image::PixelView>& to);

  const VideoRunOptions options_;
  PipelineRunner runner_;
  std::vector<bool> gathered_;  // planes that a kernel may read slightly past the end, see Kernel::run
  image::FrameTask task_;
  // Memory for copied planes, allocated on demand.
  std::optional<video::Frame> own_input_;
  std::optional<video::Frame> own_output_;
  std::atomic<std::int64_t> frames_ = 0;  // relaxed: a count for display, publishes no other data
  std::int64_t copies_ = 0;
  std::int64_t wall_ns_ = 0;
  RunRecord record_;
};

}  // namespace millrace::run
