// Work done for one stage, or for stages fused into one kernel.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace millrace::image {

// Summed over frames. Work shared by several planes is counted for the first of them only.
struct StageReport {
  std::string stages;      // "sobel_x+sobel_y+magnitude"
  std::vector<int> nodes;  // in the pipeline, without repetition; empty for conversions
  int plane = 0;
  std::int64_t frames = 0;
  std::int64_t pixels_computed = 0;
  std::int64_t pixels_required = 0;  // area of the last stage needed for the frame's output, times frames
  std::int64_t timed_ns = 0;         // elapsed time of timed kernel calls, summed over workers
  std::int64_t timed_pixels = 0;     // pixels computed in these calls

  // For all workers together, extrapolated from the timed pixels.
  [[nodiscard]] double seconds_per_frame() const {
    if (timed_pixels == 0 || frames == 0) return 0;
    const double ns_per_pixel = static_cast<double>(timed_ns) / static_cast<double>(timed_pixels);
    return ns_per_pixel * static_cast<double>(pixels_computed) / static_cast<double>(frames) * 1e-9;
  }
};

// Keyed by plane and by position and names of the stages, because a filter may occur several times in a
// pipeline.
using StageReports = std::map<std::pair<int, std::string>, StageReport>;

}  // namespace millrace::image
