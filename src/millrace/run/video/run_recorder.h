// RunRecorder: what people want to see of a run beside its sums: how long frames took, who computed what of
// one, what it looks like, and a trace.
#pragma once

#include "millrace/image/execute/call_log.h"
#include "millrace/image/execute/executor.h"
#include "millrace/run/video/frame_times.h"
#include "millrace/run/video/run_trace.h"
#include "millrace/run/video/video_run.h"
#include "millrace/video/frame/frame.h"
#include "millrace/video/thumbnail.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace millrace::run {

// What the workers did for one frame, or for those of a turn.
struct RecordedFrame {
  std::int64_t frame = 0;  // the first
  image::Schedule schedule;
  std::vector<std::vector<image::GroupName>> groups;  // as image::KernelCall counts them
  std::vector<image::KernelCall> calls;               // of that frame
  std::int64_t calls_left_out = 0;
};

struct RunPictures {
  std::int64_t frame = 0;
  std::optional<video::Thumbnail> before;
  std::optional<video::Thumbnail> after;
};

struct RunRecording {
  std::vector<FrameTime> frame_times;
  std::vector<RecordedFrame> frames;  // one for each schedule, the one in use at the end last
  RunPictures pictures;
  std::shared_ptr<const RunTrace> trace;  // null: not asked for
};

// Used by the thread of the run. Costs some microseconds a turn, and for the first frames of each schedule
// the writing down of every kernel call.
class RunRecorder {
 public:
  // begin_ns: of the run, by now_ns().
  RunRecorder(image::Executor& executor, const RecordingOptions& options, std::int64_t begin_ns);

  // Before the executor runs the next frames, the first of which is number `frame`.
  void before(std::int64_t frame);
  // After it. The planes of one of them, before and after.
  void computed(const video::Frame& source, const video::Frame& result);
  // After they were handed on. Seconds; all but `at` are of this turn alone.
  void handed_on(FrameTime turn);

  [[nodiscard]] RunRecording finish(const image::Schedule& last);

 private:
  static constexpr std::size_t most_calls = 20'000;  // of a recorded frame
  static constexpr std::size_t most_frames = 8;
  static constexpr int thumbnail_side = 400;

  image::Executor& executor_;
  const std::int64_t begin_ns_;
  FrameTimes times_;
  std::vector<RecordedFrame> frames_;
  std::vector<int> turns_;  // of each of these schedules, up to the one that was recorded
  std::unique_ptr<image::CallLog> log_;
  bool keeps_ = false;  // what is in the log is for frames_
  std::int64_t frame_ = 0;
  std::int64_t start_ns_ = 0;
  std::int64_t end_ns_ = 0;
  std::optional<std::int64_t> next_picture_;  // the frame; none: no more
  RunPictures pictures_;
  std::shared_ptr<RunTrace> trace_;
};

}  // namespace millrace::run
