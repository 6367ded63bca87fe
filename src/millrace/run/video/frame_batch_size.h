// Chooses the size of a batch of frames for the workers. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace millrace::run {

// At the end of each batch, the workers wait for each other and for the frames to be handed on. For small
// frames that takes as long as computing them. So a batch holds several frames per worker, and each worker
// takes the next frame as soon as it has finished one.
class FrameBatchSize {
 public:
  // frame_bytes: size of the input or the output frame, whichever is larger. total: frames of the run, if
  // known.
  explicit FrameBatchSize(std::size_t frame_bytes, std::optional<std::int64_t> total = {})
      : frame_bytes_(frame_bytes), total_(total) {}

  // Adds a measured batch. frames, seconds > 0.
  void add(int frames, double seconds);
  // Call it when the schedule or the frames change.
  void forget() { frame_seconds_ = 0; }

  // Maximum size of the next batch: a multiple of `side_by_side`, at least one; 1 if that is 1.
  [[nodiscard]] int frames(int side_by_side) const;

  // Upper bound of frames().
  [[nodiscard]] static int most_frames(int side_by_side, std::size_t frame_bytes);

 private:
  std::size_t frame_bytes_;
  std::optional<std::int64_t> total_;
  double frame_seconds_ = 0;  // seconds per frame of the run; 0: unknown
};

}  // namespace millrace::run
