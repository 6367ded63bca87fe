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

// prepare(), then run() where that worked, both by the thread of the context.
class FrameLoop {
 public:
  // All of them must outlive it. The record gets what the run did.
  FrameLoop(ExecutionContext& context, const VideoSource& source, const VideoSink& sink,
            const VideoRunOptions& options, RunControl& control, RunRecord& record);

  // Opens both ends and sets what runs first. Frames have been read ahead by then.
  [[nodiscard]] Status prepare();
  // Fills in the record.
  [[nodiscard]] Status run();

 private:
  // Frames of one batch.
  struct Batch {
    std::int64_t first = 0;  // its number
    int rounds = 1;          // of frames side by side
    std::vector<video::Frame> after;
    std::vector<image::FrameTask> tasks;
    std::vector<std::int64_t> came_ns;  // of each
  };

  [[nodiscard]] Status open_inputs();
  void start_inputs();
  void move_io();
  // How many frames are taken at most, `side_by_side` of them at a time; as many wait at either end.
  [[nodiscard]] int batch_size(int side_by_side);
  void deepen_queues(int frames);
  [[nodiscard]] Status lay_out();
  [[nodiscard]] Status open_sink();
  [[nodiscard]] Status process(std::int64_t start_ns);
  [[nodiscard]] Status fill(Batch& batch, int side_by_side, int most);
  // The last frame that has to be read before this one is taken up.
  [[nodiscard]] std::int64_t last_for(std::int64_t frame) const;
  // When a frame that has just been taken up was there, with those that it is made of.
  [[nodiscard]] std::int64_t came_ns(std::int64_t frame) const;
  // How many frames come of so many.
  [[nodiscard]] std::optional<std::int64_t> made_of(std::optional<std::int64_t> frames) const;
  // Which of those that are made it is.
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
  // Where the pipeline reads a second video.
  std::optional<SecondInput> second_;
  std::optional<FrameWindow> window_;  // once both are open
  bool more_ = true;                   // frames to come
  std::int64_t next_;                  // number of the frame to be processed next
  Histogram latency_;                  // the writer's, until it has finished
  std::unique_ptr<video::OverlappedWriter> writer_;
  std::int64_t output_wait_ns_ = 0;
  BatchObserver observer_;
  std::size_t queue_depth_ = video::queue_depth;
  std::optional<FrameBatchSize> batch_size_;  // where it is throughput that counts
  std::int64_t switches_ = 0;                 // of schedules, as it knows them
  IoCpus io_cpus_;                            // of the threads that read and write
  std::optional<video::FramePool> outputs_;
  std::optional<RunRecorder> recorder_;
};

}  // namespace millrace::run
