#include "millrace/video/overlap/frame_queue.h"

namespace millrace::video {

bool FrameQueue::push(Frame frame, std::int64_t came_ns) {
  {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return closed_ || frames_.size() < depth_; });
    if (closed_) return false;
    frames_.push_back({std::move(frame), came_ns});
  }
  filled_.notify_one();
  return true;
}

void FrameQueue::finish(Status status) {
  {
    const std::scoped_lock lock(mutex_);
    if (!end_) end_ = std::move(status);
  }
  filled_.notify_one();
}

Result<std::optional<Frame>> FrameQueue::pop() {
  std::optional<Frame> frame;
  {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [this] { return closed_ || !frames_.empty() || end_; });
    if (closed_) return std::nullopt;
    if (frames_.empty()) {
      if (!*end_) return std::unexpected(end_->error());
      return std::nullopt;
    }
    frame = std::move(frames_.front().frame);
    came_ns_ = frames_.front().came_ns;
    frames_.pop_front();
  }
  room_.notify_one();
  return frame;
}

void FrameQueue::close() {
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    frames_.clear();  // allocates nothing, unlike a new deque
  }
  room_.notify_all();
  filled_.notify_all();
}

void FrameQueue::set_depth(std::size_t depth) {
  {
    const std::scoped_lock lock(mutex_);
    depth_ = depth;
  }
  room_.notify_one();
}

std::size_t FrameQueue::size() const {
  const std::scoped_lock lock(mutex_);
  return frames_.size();
}

}  // namespace millrace::video
