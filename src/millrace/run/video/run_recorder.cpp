#include "millrace/run/video/run_recorder.h"

#include "millrace/base/error/clock.h"

#include <algorithm>
#include <utility>

namespace millrace::run {
namespace {

// The first batch of a schedule warms up its memory.
constexpr int recorded_batch = 2;

void keep_first_frame(std::vector<image::KernelCall>& calls) {
  std::erase_if(calls, [](const image::KernelCall& call) { return call.frame != 0; });
}

}  // namespace

RunRecorder::RunRecorder(image::Executor& executor, const RecordingOptions& options, std::int64_t begin_ns)
    : executor_(executor), begin_ns_(begin_ns),
      trace_(options.trace ? std::make_shared<RunTrace>(begin_ns) : nullptr) {
  if (options.pictures) next_picture_ = 0;
}

void RunRecorder::before(std::int64_t frame) {
  frame_ = frame;
  const image::Schedule& schedule = executor_.in_use();
  auto known = std::ranges::find(frames_, schedule, &RecordedFrame::schedule);
  if (known == frames_.end()) {
    if (frames_.size() == most_frames) {
      frames_.erase(frames_.begin());
      batches_.erase(batches_.begin());
    }
    frames_.push_back({.frame = frame, .schedule = schedule});
    batches_.push_back(0);
    known = std::prev(frames_.end());
  }
  const auto place = static_cast<std::size_t>(known - frames_.begin());
  keeps_ = batches_[place] < recorded_batch;
  if (keeps_) {
    ++batches_[place];
    // Move to the end, because the least recently used is dropped first.
    std::rotate(known, known + 1, frames_.end());
    std::rotate(batches_.begin() + static_cast<std::ptrdiff_t>(place),
                batches_.begin() + static_cast<std::ptrdiff_t>(place) + 1, batches_.end());
  }
  if (keeps_ || trace_) {
    log_ = std::make_unique<image::CallLog>(trace_ ? RunTrace::most_calls_of_batch : most_calls);
    executor_.record_next(log_.get());
  }
  start_ns_ = now_ns();
}

void RunRecorder::computed(const video::Frame& source, const video::Frame& result) {
  end_ns_ = now_ns();
  if (log_) {
    const std::int64_t left_out = log_->left_out();
    std::vector<image::KernelCall> calls = log_->take();
    log_.reset();
    if (trace_)
      trace_->add_computing({frame_, start_ns_, end_ns_}, executor_.in_use(), executor_.group_names(), calls,
                            left_out);
    if (keeps_) {
      RecordedFrame& frame = frames_.back();
      keep_first_frame(calls);
      frame.frame = frame_;
      frame.groups = executor_.group_names();
      frame.calls_left_out =
          left_out + std::max<std::int64_t>(0, std::ssize(calls) - std::int64_t{most_calls});
      if (calls.size() > most_calls) calls.resize(most_calls);
      frame.calls = std::move(calls);
      // Newly compiled kernels may have replaced the schedule that was going to run.
      frame.schedule = executor_.in_use();
    }
  }
  if (!next_picture_ || frame_ < *next_picture_) return;
  // At growing intervals: the first frame of a film is rarely typical.
  next_picture_ = std::max<std::int64_t>(8, 8 * frame_);
  RunPictures pictures{.frame = frame_, .before = std::nullopt, .after = std::nullopt};
  if (auto small = video::make_thumbnail(source, thumbnail_side)) pictures.before = *std::move(small);
  if (auto small = video::make_thumbnail(result, thumbnail_side)) pictures.after = *std::move(small);
  pictures_ = std::move(pictures);
}

void RunRecorder::handed_on(FrameTime batch) {
  const std::int64_t now = now_ns();
  batch.at = seconds(now - begin_ns_);
  if (trace_) trace_->add_waiting(start_ns_, batch.input_wait, now, batch.output_wait);
  times_.add(batch);
}

RunRecording RunRecorder::finish(const image::Schedule& last) {
  const auto found = std::ranges::find(frames_, last, &RecordedFrame::schedule);
  if (found != frames_.end()) std::rotate(found, found + 1, frames_.end());
  std::erase_if(frames_, [](const RecordedFrame& frame) { return frame.calls.empty(); });
  return {.frame_times = times_.points(),
          .frames = std::move(frames_),
          .pictures = std::move(pictures_),
          .trace = std::move(trace_)};
}

}  // namespace millrace::run
