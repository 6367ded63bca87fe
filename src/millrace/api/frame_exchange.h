// Where frames go from one thread to another: those that a caller pushes into a run, and those it pulls.
#pragma once

#include "millrace/base/result.h"
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

// How an exchange went, for the side of the caller.
enum class Passed {
  done,
  again,   // not in time
  closed,  // the run takes, or has, no more
};

// nullopt: as long as it takes.
using Patience = std::optional<std::chrono::milliseconds>;

// Whether the condition has come true in time.
template <class Condition, class Ready>
[[nodiscard]] bool wait_until(Condition& changed, std::unique_lock<std::mutex>& lock, Patience patience,
                              Ready ready) {
  if (patience) return changed.wait_for(lock, *patience, ready);
  changed.wait(lock, ready);
  return true;
}

// Frames on their way into a run; a few, so that a caller is not far ahead of it. push() and end() by the
// caller, next() by the run, close() by any.
class InputFrames {
 public:
  explicit InputFrames(const video::FrameFormat& format) : pool_(format) {}

  [[nodiscard]] const video::FrameFormat& format() const { return pool_.format(); }

  // Waits for room, then has `fill` write the samples. An Error is fill's, or that of a lack of memory.
  [[nodiscard]] Result<Passed> push(pool::FunctionRef<Status(video::Frame& frame)> fill, Patience patience);
  void end();
  [[nodiscard]] bool ended() const;

  // As run::NextFrame.
  [[nodiscard]] Result<std::optional<video::Frame>> next(const std::stop_token& stop);
  // Wakes and refuses whoever pushes.
  void close();

 private:
  static constexpr std::size_t most = 2;

  video::FramePool pool_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  // With the mutex held:
  std::deque<video::Frame> waiting_;
  bool ended_ = false;
  bool closed_ = false;
};

// Frames on their way out of a run, one at a time: the run waits until it is taken. offer() and finish() by
// the run, take() by the caller, drop() by any.
class OutputFrames {
 public:
  // As run::TakeFrame. Interrupted after drop().
  [[nodiscard]] Status offer(video::Frame& frame);
  // There will be no more.
  void finish();

  // Waits for a frame and shows it; it may be moved from. `closed` behind the last one, again and again.
  [[nodiscard]] Result<Passed> take(pool::FunctionRef<Status(video::Frame& frame)> show, Patience patience);
  // Nobody will take any more.
  void drop();
  // Waits until a frame is there to be taken: `done`; or none will be: `closed`.
  [[nodiscard]] Passed wait_for_frame(Patience patience);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  // With the mutex held:
  video::Frame* offered_ = nullptr;
  bool finished_ = false;
  bool dropped_ = false;
};

}  // namespace millrace::api
