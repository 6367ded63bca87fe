// FrameWindow: the frames of a run that have been read and are still needed.
#pragma once

#include "millrace/run/video/input_passes.h"
#include "millrace/run/video/second_input.h"
#include "millrace/run/video/shown_time.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace millrace::run {

// In order, numbered from 0 on, each with what a second video shows beside it. Before the first frame and
// after the last one the video stands still: there, a number means the nearest frame that is held. Used by
// one thread.
class FrameWindow {
 public:
  // Both are open by then, and outlive the window. second: null where there is none.
  FrameWindow(InputPasses& input, SecondInput* second)
      : input_(input), second_(second), shown_(input.format()) {}

  // Waits for the frame and all before it, or for all there are.
  void read_as_far_as(std::int64_t number);
  // The number behind the last one that was read.
  [[nodiscard]] std::int64_t end() const { return first_ + std::ssize(held_); }
  // The same for what could be read without waiting.
  [[nodiscard]] std::int64_t end_of_those_there() const;
  // Why the input ended early; where it has.
  [[nodiscard]] const Status& error() const { return error_; }
  // Time spent waiting for frames so far.
  [[nodiscard]] std::int64_t waited_ns() const { return waited_ns_; }

  [[nodiscard]] const video::Frame& frame(std::int64_t number) const { return held_[place(number)]; }
  [[nodiscard]] const video::Frame& beside(std::int64_t number) const {
    return second_->frame(beside_[place(number)]);
  }
  // When it had been read, with what is shown beside it, by now_ns().
  [[nodiscard]] std::int64_t came_ns(std::int64_t number) const { return came_ns_[place(number)]; }

  void forget_before(std::int64_t number);

 private:
  [[nodiscard]] std::size_t place(std::int64_t number) const;
  [[nodiscard]] Status hold(video::Frame frame);

  InputPasses& input_;
  SecondInput* second_;
  ShownTime shown_;
  std::deque<video::Frame> held_;
  std::deque<std::int64_t> came_ns_;  // of each
  std::deque<std::int64_t> beside_;   // of each, the number of the second video's frame
  std::int64_t first_ = 0;            // number of the first that is held
  bool ended_ = false;
  Status error_;
  std::int64_t waited_ns_ = 0;
};

}  // namespace millrace::run
