// SecondInput: the frames of a second video, matched to the first by time.
#pragma once

#include "millrace/run/video/input_passes.h"
#include "millrace/run/video/shown_time.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace millrace::run {

// Call open() and start(), then beside() for each frame of the first video in order. Both videos begin at the
// same moment. A frame is matched with the last frame of the second video that has begun by then, or with its
// last frame after its end. Used by one thread.
class SecondInput {
 public:
  // The source must outlive this object.
  SecondInput(const VideoSource& source, video::ReaderOptions options)
      : source_(source), input_(source, std::move(options), 1, {}) {}

  // Frames are read in the sample format of `first`. Usage error if that is impossible.
  [[nodiscard]] Status open(const video::FrameFormat& first);
  void check_by(std::function<Status(const video::Frame&)> check) { input_.check_by(std::move(check)); }
  void start(const IoCpus& cpus) { input_.start(cpus); }
  void move_to(const IoCpus& cpus) { input_.move_to(cpus); }
  void set_depth(std::size_t frames) { input_.set_depth(frames); }

  [[nodiscard]] const video::FrameFormat& format() const { return input_.format(); }
  // Warnings if mixing with the frames of `first` changes the meaning of colours.
  [[nodiscard]] std::vector<std::string> warnings(const video::FrameFormat& first) const;

  // Returns the number of the frame shown at this time. Reads as far ahead as necessary. A video without
  // frames is a failure.
  [[nodiscard]] Result<std::int64_t> beside(double time, double inaccuracy);
  // `number` must come from beside() and must not be forgotten yet.
  [[nodiscard]] const video::Frame& frame(std::int64_t number) const {
    return held_[static_cast<std::size_t>(number - first_held_)];
  }
  // Drops frames before `number`; forget_all() drops all that beside() cannot return any longer.
  void forget_before(std::int64_t number);
  void forget_all() { forget_before(shown_); }
  // When the last frame that beside() needed had been read, by now_ns().
  [[nodiscard]] std::int64_t came_ns() const { return input_.came_ns(); }

  // One line on data that was lost so far; empty if there was none.
  [[nodiscard]] std::string losses() const;

 private:
  [[nodiscard]] Status read_next();

  const VideoSource& source_;
  InputPasses input_;
  std::optional<ShownTime> time_;
  std::deque<video::Frame> held_;
  std::deque<double> begins_;  // for each held frame
  std::int64_t first_held_ = 0;
  std::int64_t shown_ = 0;  // number that beside() returned last
  bool ended_ = false;
};

}  // namespace millrace::run
