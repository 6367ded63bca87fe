// FrameQueue: a bounded queue of frames between two threads. The end or an error follows the frames.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/video/frame/frame.h"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

namespace millrace::video {

// FFmpeg's authors measured that a depth of two prevents stalls as well as eight, whatever the bottleneck, in
// a fraction of the memory (commit text of fftools/ffmpeg_sched.h).
inline constexpr std::size_t queue_depth = 2;

// Frames that are processed side by side arrive and leave together, so the queue must hold as many.
[[nodiscard]] constexpr std::size_t queue_depth_for(int side_by_side) {
  return std::max(queue_depth, static_cast<std::size_t>(std::max(side_by_side, 0)));
}

// One thread pushes, one pops. Thread-safe; waiting threads sleep.
class FrameQueue {
 public:
  explicit FrameQueue(std::size_t depth = queue_depth) : depth_(depth) {}
  FrameQueue(const FrameQueue&) = delete;
  FrameQueue& operator=(const FrameQueue&) = delete;

  // Waits for room. Returns false and drops the frame if the queue is closed. came_ns is passed on to the
  // popper.
  [[nodiscard]] bool push(Frame frame, std::int64_t came_ns = 0);

  // Ends the input: pop() returns the remaining frames, then the end or the error.
  void finish(Status status = {});

  // Waits for a frame. Returns nullopt at the end and if the queue is closed.
  [[nodiscard]] Result<std::optional<Frame>> pop();
  // The value pushed with the last popped frame. Only for the popping thread.
  [[nodiscard]] std::int64_t came_ns() const { return came_ns_; }

  // Called by the popping thread to stop: drops queued frames and ends every wait, now and later.
  void close();

  // Takes effect at once. Frames already queued beyond the new depth stay until popped.
  void set_depth(std::size_t depth);

  [[nodiscard]] std::size_t size() const;

 private:
  std::size_t depth_;
  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable filled_;
  struct Queued {
    Frame frame;
    std::int64_t came_ns = 0;
  };
  std::deque<Queued> frames_;
  std::optional<Status> end_;
  bool closed_ = false;
  std::int64_t came_ns_ = 0;  // used by the popping thread only
};

}  // namespace millrace::video
