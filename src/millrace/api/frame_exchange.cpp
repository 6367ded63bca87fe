#include "millrace/api/frame_exchange.h"

#include <utility>

namespace millrace::api {
Result<Passed> InputFrames::push(pool::FunctionRef<Status(video::Frame& frame)> fill, Patience patience) {
  {
    std::unique_lock lock(mutex_);
    if (!wait_until(changed_, lock, patience, [this] { return closed_ || waiting_.size() < most; }))
      return Passed::again;
    if (closed_) return Passed::closed;
  }
  // Only one thread pushes, so the room remains without the mutex.
  auto frame = pool_.acquire();
  if (!frame) return std::unexpected(frame.error());
  if (Status filled = fill(*frame); !filled) return std::unexpected(filled.error());
  const std::scoped_lock lock(mutex_);
  if (closed_) return Passed::closed;
  waiting_.push_back(std::move(*frame));
  changed_.notify_all();
  return Passed::done;
}

void InputFrames::end() {
  const std::scoped_lock lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

bool InputFrames::ended() const {
  const std::scoped_lock lock(mutex_);
  return ended_;
}

Result<std::optional<video::Frame>> InputFrames::next(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait(lock, stop, [this] { return ended_ || closed_ || !waiting_.empty(); }) || closed_)
    return std::unexpected(Error{ErrorKind::interrupted, "the run was stopped"});
  if (waiting_.empty()) return std::nullopt;
  video::Frame frame = std::move(waiting_.front());
  waiting_.pop_front();
  changed_.notify_all();
  return frame;
}

void InputFrames::close() {
  const std::scoped_lock lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

Status OutputFrames::offer(video::Frame& frame) {
  std::unique_lock lock(mutex_);
  if (!dropped_) {
    offered_ = &frame;
    changed_.notify_all();
    changed_.wait(lock, [this] { return dropped_ || offered_ == nullptr; });
    if (std::exchange(offered_, nullptr) == nullptr) return {};
  }
  return std::unexpected(Error{ErrorKind::interrupted, "the run was stopped"});
}

void OutputFrames::finish() {
  const std::scoped_lock lock(mutex_);
  finished_ = true;
  changed_.notify_all();
}

Result<Passed> OutputFrames::take(pool::FunctionRef<Status(video::Frame& frame)> show, Patience patience) {
  std::unique_lock lock(mutex_);
  if (!wait_until(changed_, lock, patience, [this] { return offered_ != nullptr || finished_ || dropped_; }))
    return Passed::again;
  if (offered_ == nullptr || dropped_) return Passed::closed;
  // The mutex stays locked so that the frame stays valid. Meanwhile the only other call can be a stop of the
  // run.
  if (Status shown = show(*offered_); !shown) return std::unexpected(shown.error());
  offered_ = nullptr;
  changed_.notify_all();
  return Passed::done;
}

void OutputFrames::drop() {
  const std::scoped_lock lock(mutex_);
  dropped_ = true;
  changed_.notify_all();
}

Passed OutputFrames::wait_for_frame(Patience patience) {
  std::unique_lock lock(mutex_);
  if (!wait_until(changed_, lock, patience, [this] { return offered_ != nullptr || finished_ || dropped_; }))
    return Passed::again;
  return offered_ != nullptr && !dropped_ ? Passed::done : Passed::closed;
}

}  // namespace millrace::api
