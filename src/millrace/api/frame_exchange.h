// Hands frames from one thread to another: InputFrames from the caller to the run, OutputFrames back.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/pool/function_ref.h"
#include "millrace/video/frame/frame_pool.h"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>

namespace millrace::api {

// Result of an exchange, from the caller's point of view.
enum class Passed {
  done,
  again,   // timeout
  closed,  // the run accepts, or has, no more frames
};

// Timeout; nullopt waits as long as it takes.
using Patience = std::optional<std::chrono::milliseconds>;

// Returns whether the condition became true in time.
template <class Condition, class Ready>
[[nodiscard]] bool wait_until(Condition& changed, std::unique_lock<std::mutex>& lock, Patience patience,
                              Ready ready) {
  if (patience) return changed.wait_for(lock, *patience, ready);
  changed.wait(lock, ready);
  return true;
}

// A short queue of frames into a run, so that the caller cannot get far ahead. The caller calls push() and
// end(), the run calls next(), any thread may call close().
class InputFrames {
 public:
  explicit InputFrames(const video::FrameFormat& format) : pool_(format) {}

  [[nodiscard]] const video::FrameFormat& format() const { return pool_.format(); }

  // Waits for room, then `fill` writes the samples. Returns fill's error, or an out-of-memory error.
  [[nodiscard]] Result<Passed> push(pool::FunctionRef<Status(video::Frame& frame)> fill, Patience patience);
  void end();
  [[nodiscard]] bool ended() const;

  // See run::NextFrame.
  [[nodiscard]] Result<std::optional<video::Frame>> next(const std::stop_token& stop);
  // Wakes and refuses threads in push().
  void close();

 private:
  static constexpr std::size_t most = 2;

  video::FramePool pool_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  // Guarded by the mutex:
  std::deque<video::Frame> waiting_;
  bool ended_ = false;
  bool closed_ = false;
};

// Frames out of a run, one at a time: the run waits until the caller has taken it. The run calls offer() and
// finish(), the caller calls take(), any thread may call drop().
class OutputFrames {
 public:
  // See run::TakeFrame. Interrupted after drop().
  [[nodiscard]] Status offer(video::Frame& frame);
  // No more frames follow.
  void finish();

  // Waits for a frame and passes it to `show`, which may move from it. Every call after the last frame
  // returns `closed`.
  [[nodiscard]] Result<Passed> take(pool::FunctionRef<Status(video::Frame& frame)> show, Patience patience);
  // The caller takes no more frames.
  void drop();
  // Returns `done` when a frame can be taken, `closed` if no more frames will come.
  [[nodiscard]] Passed wait_for_frame(Patience patience);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by the mutex:
  video::Frame* offered_ = nullptr;
  bool finished_ = false;
  bool dropped_ = false;
};

}  // namespace millrace::api
