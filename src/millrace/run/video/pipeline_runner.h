// PipelineRunner: applies a pipeline to the frames of one run. It lays the pipeline out for their format,
// uses a fixed schedule or searches for the best one, and changes parameters at given frames.
#pragma once

#include "millrace/image/execute/executor.h"
#include "millrace/image/layout/frame_layout.h"
#include "millrace/image/pipeline/parameter_timeline.h"
#include "millrace/run/video/execution_context.h"
#include "millrace/run/video/run_record.h"
#include "millrace/run/video/schedule_search.h"
#include "millrace/run/video/video_run.h"

#include <cstdint>
#include <optional>
#include <span>

namespace millrace::run {

// Call lay_out() and set_schedule(). Then call follow_changes(), prepare() and run() for each batch of
// frames, and finish() at the end. One thread at a time. The execution context and the options must outlive
// it.
class PipelineRunner {
 public:
  PipelineRunner(ExecutionContext& context, const VideoRunOptions& options);

  // Usage error if the pipeline cannot process such frames, or if a parameter change would alter the frame
  // size or the steps of a filter. `second`: format of the second video, if there is one.
  [[nodiscard]] Status lay_out(const video::FrameFormat& input,
                               const std::optional<video::FrameFormat>& second = {});
  // Properties of the source and the sink.
  struct Ends {
    bool live = false;    // frames should be processed as they arrive, see VideoSource
    bool own_io = false;  // the run's own threads read and write; they will run on executor().io_cpus()
    // Estimated number of frames if no exact count is given; see expect().
    std::optional<std::int64_t> expected = std::nullopt;
  };
  // Chooses the first schedule. `frames`: number of frames, if known exactly.
  [[nodiscard]] Status set_schedule(std::optional<std::int64_t> frames, const Ends& ends);

  [[nodiscard]] const image::FrameLayout& layout() const { return layout_; }
  [[nodiscard]] image::Executor& executor() { return executor_; }
  [[nodiscard]] const image::Executor& executor() const { return executor_; }
  // Null under a fixed schedule.
  [[nodiscard]] image::AdaptiveScheduler* search() { return search_ ? &search_->scheduler() : nullptr; }

  // Whether parameters change at this frame. `frame`, here and below: number within this run.
  [[nodiscard]] bool changes_at(std::int64_t frame) const {
    return timeline_->changes_at(options_.first_frame + frame);
  }
  // Sets the parameters of this frame for all frames from now on.
  [[nodiscard]] Status follow_changes(std::int64_t frame);
  // Updates the estimate of the run's total number of frames.
  void expect(std::optional<std::int64_t> frames);
  // Returns how many frames to process at a time.
  [[nodiscard]] Result<int> prepare();
  // `waited`: seconds since the first of these frames arrived.
  [[nodiscard]] Status run(std::span<const image::FrameTask> frames, double waited);
  // Saves what the search learned and writes it to the record, whose number of frames must be set. Times
  // count from `start`, in seconds of the monotonic clock; nullopt: from the beginning of the search.
  void finish(RunRecord& record, std::optional<double> start);

 private:
  [[nodiscard]] image::Samples samples() const;
  // Layout of the pipeline with other parameter values.
  [[nodiscard]] Result<image::FrameLayout> layout_of(const image::Pipeline& pipeline) const;
  [[nodiscard]] Status check_changes() const;

  ExecutionContext& context_;
  const VideoRunOptions& options_;
  image::Executor executor_;
  double compiled_before_;  // seconds spent compiling by other runs of the context
  image::FrameLayout layout_;
  std::optional<image::ParameterTimeline> timeline_;
  image::Pipeline announced_;  // the pipeline that the search knows about
  std::optional<ScheduleSearch> search_;
  std::int64_t frames_after_ = 0;  // frames of later runs, which the search takes into account
  int frames_in_flight_ = 1;       // under a fixed schedule
};

}  // namespace millrace::run
