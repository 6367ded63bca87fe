// How many frames are handed to the workers at once. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace millrace::run {

// Workers that compute a frame each wait for each other, and for the frames to be handed on, at the end of
// every turn: which takes as long as small frames do. So the workers are given several rounds of these, and
// each takes the next frame when it is done with one.
class TurnLength {
 public:
  // frame_bytes: of the larger of what is read and what is written. total: frames of the run, where that is
  // known.
  explicit TurnLength(std::size_t frame_bytes, std::optional<std::int64_t> total = {})
      : frame_bytes_(frame_bytes), total_(total) {}

  // What a turn took. frames, seconds > 0.
  void add(int frames, double seconds);
  // Other frames are computed by another schedule from now on.
  void forget() { frame_seconds_ = 0; }

  // How many to hand out at most: whole rounds of `side_by_side` frames, at least one; 1 where that is 1.
  [[nodiscard]] int frames(int side_by_side) const;

  // At least what frames() gives.
  [[nodiscard]] static int most_frames(int side_by_side, std::size_t frame_bytes);

 private:
  std::size_t frame_bytes_;
  std::optional<std::int64_t> total_;
  double frame_seconds_ = 0;  // of the run; 0: not known
};

}  // namespace millrace::run
