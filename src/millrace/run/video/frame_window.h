// FrameWindow: frames of a run that have been read and are still needed.
#pragma once

#include "millrace/run/video/input_passes.h"
#include "millrace/run/video/second_input.h"
#include "millrace/run/video/shown_time.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace millrace::run {

// Frames in order, numbered from 0, each with its frame of the second video. Numbers before the first frame
// or after the last one mean the nearest frame that is held. Used by one thread.
class FrameWindow {
 public:
  // Both inputs must be open before the first read and outlive the window. second: null if there is none.
  FrameWindow(InputPasses& input, SecondInput* second)
      : input_(input), second_(second), shown_(input.format()) {}

  // Waits for this frame and all before it, or until the input ends.
  void read_as_far_as(std::int64_t number);
  // One past the number of the last frame that was read.
  [[nodiscard]] std::int64_t end() const { return first_ + std::ssize(held_); }
  // One past the number of the last frame that can be read without waiting.
  [[nodiscard]] std::int64_t end_of_those_there() const;
  // Why the input ended early, if it has.
  [[nodiscard]] const Status& error() const { return error_; }
  // Total time spent waiting for frames.
  [[nodiscard]] std::int64_t waited_ns() const { return waited_ns_; }

  [[nodiscard]] const video::Frame& frame(std::int64_t number) const { return held_[place(number)]; }
  [[nodiscard]] const video::Frame& beside(std::int64_t number) const {
    return second_->frame(beside_[place(number)]);
  }
  // When the frame and its frame of the second video had been read, by now_ns().
  [[nodiscard]] std::int64_t came_ns(std::int64_t number) const { return came_ns_[place(number)]; }

  void forget_before(std::int64_t number);

 private:
  [[nodiscard]] std::size_t place(std::int64_t number) const;
  [[nodiscard]] Status hold(video::Frame frame);

  InputPasses& input_;
  SecondInput* second_;
  ShownTime shown_;
  std::deque<video::Frame> held_;
  std::deque<std::int64_t> came_ns_;  // for each held frame
  std::deque<std::int64_t> beside_;   // for each held frame, the number of its frame of the second video
  std::int64_t first_ = 0;            // number of the first held frame
  bool ended_ = false;
  Status error_;
  std::int64_t waited_ns_ = 0;
};

}  // namespace millrace::run
