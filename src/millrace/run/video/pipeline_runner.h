// PipelineRunner: a pipeline on the frames of one run, wherever they come from: laid out for their format,
// under a fixed schedule or a search for the best, with parameters that change at given frames.
#pragma once

#include "millrace/image/execute/executor.h"
#include "millrace/image/layout/frame_layout.h"
#include "millrace/image/pipeline/parameter_timeline.h"
#include "millrace/run/video/run_record.h"
#include "millrace/run/video/schedule_search.h"
#include "millrace/run/video/video_run.h"
#include "millrace/run/video/workplace.h"

#include <cstdint>
#include <optional>
#include <span>

namespace millrace::run {

// lay_out(), set_schedule(), then for each turn follow_changes(), prepare() and run(), and finish() in the
// end: all by one thread at a time. Workplace and options must outlive it.
class PipelineRunner {
 public:
  PipelineRunner(Workplace& workplace, const VideoRunOptions& options);

  // Usage error where the pipeline cannot work on such frames, or a change of a parameter would give frames
  // of another size or a filter of other steps. `second`: of the second video, where there is one.
  [[nodiscard]] Status lay_out(const video::FrameFormat& input,
                               const std::optional<video::FrameFormat>& second = {});
  // Where the frames come from and go to.
  struct Ends {
    bool live = false;    // each frame is worth taking up before the next one is there, see VideoSource
    bool own_io = false;  // threads of the run read and write, which will go where executor().io_cpus() says
    // How many frames there will be as far as that can be told by now, where nobody says it: see expect().
    std::optional<std::int64_t> expected = std::nullopt;
  };
  // What runs first. `frames`: how many there will be, where somebody says so.
  [[nodiscard]] Status set_schedule(std::optional<std::int64_t> frames, const Ends& ends);

  [[nodiscard]] const image::FrameLayout& layout() const { return layout_; }
  [[nodiscard]] image::Executor& executor() { return executor_; }
  [[nodiscard]] const image::Executor& executor() const { return executor_; }
  // Nothing under a fixed schedule.
  [[nodiscard]] image::AdaptiveScheduler* search() { return search_ ? &search_->scheduler() : nullptr; }

  // `frame`, here and below: its number within this run. Whether parameters change there.
  [[nodiscard]] bool changes_at(std::int64_t frame) const {
    return timeline_->changes_at(options_.first_frame + frame);
  }
  // The parameters of the frame, for all frames from now on.
  [[nodiscard]] Status follow_changes(std::int64_t frame);
  // How many frames there will be from the first to the last, as far as that is known by now.
  void expect(std::optional<std::int64_t> frames);
  // How many frames to process side by side.
  [[nodiscard]] Result<int> prepare();
  // `waited`: seconds since the first of the frames came.
  [[nodiscard]] Status run(std::span<const image::FrameTask> frames, double waited);
  // Keeps what was learnt and tells the record of it, which says how many frames there were.
  void finish(RunRecord& record);

 private:
  [[nodiscard]] image::Samples samples() const;
  // With other values of parameters.
  [[nodiscard]] Result<image::FrameLayout> layout_of(const image::Pipeline& pipeline) const;
  [[nodiscard]] Status check_changes() const;

  Workplace& workplace_;
  const VideoRunOptions& options_;
  image::Executor executor_;
  double compiled_before_;  // seconds, by other runs of the workplace
  image::FrameLayout layout_;
  std::optional<image::ParameterTimeline> timeline_;
  image::Pipeline announced_;  // that the search knows of
  std::optional<ScheduleSearch> search_;
  std::int64_t frames_after_ = 0;  // of other runs, which the search counts in
  int frames_in_flight_ = 1;       // of a fixed schedule
};

}  // namespace millrace::run
