// SteadyTimes: repairs frame times of a file so that they increase.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace millrace::video {

// A frame whose time is not between its neighbours' times (a duplicate, or an outlier) moves between them, at
// most one frame duration after the first. All others keep their times. It changes as few frames as possible.
// After a burst of frames with one time, such as network cameras make, the given times are earlier than those
// already placed. Frames then follow faster until both agree again. A value type.
class SteadyTimes {
 public:
  // The window in frames, including the next frame.
  static constexpr std::size_t most_frames = 6;

  // duration: of a frame, in units of time, at least 1.
  explicit SteadyTimes(std::int64_t duration) : duration_(duration) {}

  // Whether placing the next frame requires the frames after it.
  [[nodiscard]] bool looks_ahead(std::optional<std::int64_t> next) const;
  // Returns the time of the first of these frames. Pass most_frames of them unless the video ends earlier.
  // None if neither it nor the frames after it have a time.
  [[nodiscard]] std::optional<std::int64_t> place(std::span<const std::optional<std::int64_t>> frames);

 private:
  [[nodiscard]] std::optional<std::int64_t>
  placed_after_last(std::span<const std::optional<std::int64_t>> frames) const;
  [[nodiscard]] std::int64_t step_after_last(std::int64_t own) const;

  std::int64_t duration_;
  std::optional<std::int64_t> last_;   // as placed
  std::optional<std::int64_t> given_;  // the time of the frame before, as the file gives it
};

}  // namespace millrace::video
