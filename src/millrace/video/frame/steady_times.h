// SteadyTimes: times of frames that grow, where those of a file do not all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace millrace::video {

// A frame whose time is not between its neighbours' (a doubled one, or one that is far off) is put between
// them, at most one frame duration behind the first; all others keep theirs. Which of some frames are wrong,
// the fewest tell: as many as can keep their times. A value.
class SteadyTimes {
 public:
  // How many frames it looks at, the next one included.
  static constexpr std::size_t most_frames = 6;

  // duration: of a frame, in units of time, at least 1.
  explicit SteadyTimes(std::int64_t duration) : duration_(duration) {}

  // Whether the frame that comes next cannot be placed without knowing those behind it.
  [[nodiscard]] bool looks_ahead(std::optional<std::int64_t> next) const;
  // The time of the first of these frames, most_frames where there are as many: none where it has none of its
  // own, nor those behind it.
  [[nodiscard]] std::optional<std::int64_t> place(std::span<const std::optional<std::int64_t>> frames);

 private:
  std::int64_t duration_;
  std::optional<std::int64_t> last_;
};

}  // namespace millrace::video
