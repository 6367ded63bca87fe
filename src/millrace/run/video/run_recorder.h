// RunRecorder: records details of a run for people: times per frame, the kernel calls of single frames,
// thumbnails and a trace.
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

// The workers' kernel calls for one frame, or for a batch of frames.
struct RecordedFrame {
  std::int64_t frame = 0;  // number of the first frame
  image::Schedule schedule;
  std::vector<std::vector<image::GroupName>> groups;  // indexed as in image::KernelCall
  std::vector<image::KernelCall> calls;               // for that frame
  std::int64_t calls_left_out = 0;
};

struct RunPictures {
  std::int64_t frame = 0;
  std::optional<video::Thumbnail> before;
  std::optional<video::Thumbnail> after;
};

struct RunRecording {
  std::vector<FrameTime> frame_times;
  std::vector<RecordedFrame> frames;  // one per schedule; the last is the schedule in use at the end
  RunPictures pictures;
  std::shared_ptr<const RunTrace> trace;  // null: not requested
};

// Used by the run's thread. Costs some microseconds per batch. The first frames of each schedule also cost a
// log entry per kernel call.
class RunRecorder {
 public:
  // begin_ns: beginning of the run, by now_ns().
  RunRecorder(image::Executor& executor, const RecordingOptions& options, std::int64_t begin_ns);

  // Call before the executor runs the next batch. `frame`: number of its first frame.
  void before(std::int64_t frame);
  // Call after that, with one frame of the batch before and after processing.
  void computed(const video::Frame& source, const video::Frame& result);
  // Call after the frames were handed on. Seconds; all but `at` cover this batch alone.
  void handed_on(FrameTime batch);

  [[nodiscard]] RunRecording finish(const image::Schedule& last);

 private:
  static constexpr std::size_t most_calls = 20'000;  // per recorded frame
  static constexpr std::size_t most_frames = 8;
  static constexpr int thumbnail_side = 400;

  image::Executor& executor_;
  const std::int64_t begin_ns_;
  FrameTimes times_;
  std::vector<RecordedFrame> frames_;
  std::vector<int> batches_;  // batches run under each recorded schedule, up to the recorded one
  std::unique_ptr<image::CallLog> log_;
  bool keeps_ = false;  // whether the log's content is for frames_
  std::int64_t frame_ = 0;
  std::int64_t start_ns_ = 0;
  std::int64_t end_ns_ = 0;
  std::optional<std::int64_t> next_picture_;  // number of the next frame to picture; nullopt: no more
                                              // pictures
  RunPictures pictures_;
  std::shared_ptr<RunTrace> trace_;
};

}  // namespace millrace::run
