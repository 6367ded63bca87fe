// FrameTimes: how long frames took, over a run of any length in bounded memory. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace millrace::run {

// Of some frames behind each other; seconds.
struct FrameTime {
  double at = 0;  // from the begin of the run to their end
  std::int64_t frames = 0;
  double computing = 0;  // all of them together
  double input_wait = 0;
  double output_wait = 0;
  double slowest = 0;  // computing, of one frame
};

class FrameTimes {
 public:
  static constexpr std::size_t most_points = 1000;

  // Of one turn of the loop, later than those before.
  void add(const FrameTime& turn);
  // At most most_points, each of about as many turns.
  [[nodiscard]] std::vector<FrameTime> points() const;

 private:
  std::vector<FrameTime> points_;
  std::size_t turns_per_point_ = 1;
  std::size_t turns_in_last_ = 0;
};

}  // namespace millrace::run
