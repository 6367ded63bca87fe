// FrameTimes: time per frame over a run of any length, in bounded memory. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace millrace::run {

// Times of some consecutive frames, in seconds.
struct FrameTime {
  double at = 0;  // from the beginning of the run to the end of these frames
  std::int64_t frames = 0;
  double computing = 0;  // sum over the frames
  double input_wait = 0;
  double output_wait = 0;
  double slowest = 0;  // longest computing time of one frame
};

class FrameTimes {
 public:
  static constexpr std::size_t most_points = 1000;

  // Adds one iteration of the loop, in chronological order.
  void add(const FrameTime& batch);
  // At most most_points, each covering about the same number of iterations.
  [[nodiscard]] std::vector<FrameTime> points() const;

 private:
  std::vector<FrameTime> points_;
  std::size_t batches_per_point_ = 1;
  std::size_t batches_in_last_ = 0;
};

}  // namespace millrace::run
