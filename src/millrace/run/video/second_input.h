// SecondInput: the frames of a second video, by the times of the first one.
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

// open(), start(), then beside() for one frame of the first video after the other. Both videos begin at the
// same moment. Beside a frame is shown the last one of the second video that has begun by then; when that
// video has ended, its last one. Used by one thread.
class SecondInput {
 public:
  // The source must outlive this object.
  SecondInput(const VideoSource& source, video::ReaderOptions options)
      : source_(source), input_(source, std::move(options), 1, {}) {}

  // Frames come with the samples of `first`. Usage error where those are not to be had.
  [[nodiscard]] Status open(const video::FrameFormat& first);
  void check_by(std::function<Status(const video::Frame&)> check) { input_.check_by(std::move(check)); }
  void start(const IoCpus& cpus) { input_.start(cpus); }
  void move_to(const IoCpus& cpus) { input_.move_to(cpus); }
  void set_depth(std::size_t frames) { input_.set_depth(frames); }

  [[nodiscard]] const video::FrameFormat& format() const { return input_.format(); }
  // What mixing them with the frames of `first` means, where they mean other colours.
  [[nodiscard]] std::vector<std::string> warnings(const video::FrameFormat& first) const;

  // The number of the frame that is shown beside one of the first video. Reads as far as it takes to know.
  // A video without a frame is a failure.
  [[nodiscard]] Result<std::int64_t> beside(double time, double inaccuracy);
  // One that beside() has given and that was not forgotten.
  [[nodiscard]] const video::Frame& frame(std::int64_t number) const {
    return held_[static_cast<std::size_t>(number - first_held_)];
  }
  // Frames before that are asked for no more; or none but those that beside() will give.
  void forget_before(std::int64_t number);
  void forget_all() { forget_before(shown_); }
  // When the last frame came that beside() had to read, by now_ns().
  [[nodiscard]] std::int64_t came_ns() const { return input_.came_ns(); }

  // What was left out so far, in a line; empty: nothing.
  [[nodiscard]] std::string losses() const;

 private:
  [[nodiscard]] Status read_next();

  const VideoSource& source_;
  InputPasses input_;
  std::optional<ShownTime> time_;
  std::deque<video::Frame> held_;
  std::deque<double> begins_;  // of each
  std::int64_t first_held_ = 0;
  std::int64_t shown_ = 0;  // number of the one that beside() has given last
  bool ended_ = false;
};

}  // namespace millrace::run
