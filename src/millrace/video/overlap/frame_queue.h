// A bounded queue of frames from one thread to another, with an end and an error that come after the frames.
#pragma once

#include "millrace/base/result.h"
#include "millrace/video/frame/frame.h"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

namespace millrace::video {

// Two frames deep: as good as eight against stalls in every bottleneck that FFmpeg's authors measured (commit
// text of fftools/ffmpeg_sched.h), at a fraction of the memory.
inline constexpr std::size_t queue_depth = 2;

// Where several frames are processed side by side they come and go at once: as many have to wait meanwhile.
[[nodiscard]] constexpr std::size_t queue_depth_for(int side_by_side) {
  return std::max(queue_depth, static_cast<std::size_t>(std::max(side_by_side, 0)));
}

// One thread pushes, one pops. Thread-safe; waiting threads sleep.
class FrameQueue {
 public:
  explicit FrameQueue(std::size_t depth = queue_depth) : depth_(depth) {}
  FrameQueue(const FrameQueue&) = delete;
  FrameQueue& operator=(const FrameQueue&) = delete;

  // Waits for room. False, and the frame is gone, when the queue is closed. came_ns: for the popper.
  [[nodiscard]] bool push(Frame frame, std::int64_t came_ns = 0);

  // The pusher has no more: pop() gives what is left, then the end, or the error.
  void finish(Status status = {});

  // Waits for a frame. nullopt at the end and when the queue is closed.
  [[nodiscard]] Result<std::optional<Frame>> pop();
  // What the pusher gave with the frame that was popped last. For the popper.
  [[nodiscard]] std::int64_t came_ns() const { return came_ns_; }

  // The popper wants no more: drops what is queued and ends every wait, now and later.
  void close();

  // From now on; what is queued beyond it stays until it is popped.
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
  std::int64_t came_ns_ = 0;  // the popper's
};

}  // namespace millrace::video
