// FrameLoop: the inside of a VideoRun, from the opening of its source to the last frame.
#pragma once

#include "millrace/run/video/batch_observer.h"
#include "millrace/run/video/codec_threads.h"
#include "millrace/run/video/frame_batch_size.h"
#include "millrace/run/video/frame_window.h"
#include "millrace/run/video/input_passes.h"
#include "millrace/run/video/pipeline_runner.h"
#include "millrace/run/video/run_recorder.h"
#include "millrace/run/video/second_input.h"
#include "millrace/run/video/video_run.h"
#include "millrace/video/frame/frame_pool.h"
#include "millrace/video/overlap/overlapped_writer.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace millrace::run {

// Call prepare() and, if it succeeded, run(). Both on the thread of the execution context.
class FrameLoop {
 public:
  // All of them must outlive it. The record gets what the run did.
  FrameLoop(ExecutionContext& context, const VideoSource& source, const VideoSink& sink,
            const VideoRunOptions& options, RunControl& control, RunRecord& record);

  // Opens source and sink and sets the first schedule. Reading ahead has begun when it returns.
  [[nodiscard]] Status prepare();
  // Fills in the record.
  [[nodiscard]] Status run();

 private:
  struct Batch {
    std::int64_t first = 0;  // number of its first frame
    int rounds = 1;          // frames that one worker or team computes, at most
    std::vector<video::Frame> after;
    std::vector<image::FrameTask> tasks;
    std::vector<std::int64_t> came_ns;  // arrival of each frame
  };

  [[nodiscard]] Status open_inputs();
  void start_inputs();
  void move_io();
  // Maximum size of the next batch, of which `side_by_side` frames are computed at a time.
  [[nodiscard]] int batch_size(int side_by_side);
  void deepen_queues(int frames);
  [[nodiscard]] Status lay_out();
  [[nodiscard]] Status open_sink();
  [[nodiscard]] Status process(std::int64_t start_ns);
  [[nodiscard]] Status fill(Batch& batch, int side_by_side, int most);
  // Number of the last frame that must be read before this one can be computed.
  [[nodiscard]] std::int64_t last_for(std::int64_t frame) const;
  // When this frame and all frames that it depends on had arrived.
  [[nodiscard]] std::int64_t came_ns(std::int64_t frame) const;
  // Number of frames produced from `frames` frames read.
  [[nodiscard]] std::optional<std::int64_t> made_of(std::optional<std::int64_t> frames) const;
  // Number of this input frame among the frames produced.
  [[nodiscard]] std::int64_t number_of(std::int64_t frame) const { return frame - options_.around.before; }
  [[nodiscard]] Status add(Batch& batch, std::int64_t frame);
  [[nodiscard]] Status compute(const Batch& batch);
  [[nodiscard]] Status hand_over(Batch& batch);
  // Seconds of the whole run so far.
  [[nodiscard]] FrameTime times() const;
  // Times of a batch that began at `before` and was handed over.
  [[nodiscard]] FrameTime times_since(const FrameTime& before, const Batch& batch) const;
  void observe(const FrameTime& batch);
  [[nodiscard]] Status interruption(const Status& outcome) const;
  [[nodiscard]] bool stopped() const { return control_.stopped(); }

  ExecutionContext& context_;
  const VideoSource& source_;
  const VideoSink& sink_;
  const VideoRunOptions& options_;
  RunControl& control_;
  RunRecord& record_;
  PipelineRunner runner_;
  CodecThreads codec_threads_;
  InputPasses input_;
  // Only if the pipeline reads a second video.
  std::optional<SecondInput> second_;
  std::optional<FrameWindow> window_;  // once both are open
  bool more_ = true;                   // frames to come
  std::int64_t next_;                  // number of the frame to be processed next
  Histogram latency_;                  // the writer's, until it has finished
  std::unique_ptr<video::OverlappedWriter> writer_;
  std::int64_t output_wait_ns_ = 0;
  BatchObserver observer_;
  std::size_t queue_depth_ = video::queue_depth;
  std::optional<FrameBatchSize> batch_size_;  // only if throughput is the objective
  std::int64_t switches_ = 0;                 // switches of the schedule that batch_size_ knows about
  IoCpus io_cpus_;                            // CPUs of the I/O threads
  std::optional<video::FramePool> outputs_;
  std::optional<RunRecorder> recorder_;
};

}  // namespace millrace::run
