// What was done for one stage, or for stages fused into one kernel.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace millrace::image {

// Summed over frames. What several planes share is counted for the first of them; the others have computed
// none of it.
struct StageReport {
  std::string stages;      // "sobel_x+sobel_y+magnitude"
  std::vector<int> nodes;  // of the pipeline that they belong to, once each; none for conversions
  int plane = 0;
  std::int64_t frames = 0;
  std::int64_t pixels_computed = 0;
  std::int64_t pixels_required = 0;  // the area of the last stage that the frame's output needs, times frames
  std::int64_t timed_ns = 0;         // that timed kernel calls took, by the clock, of all workers together
  std::int64_t timed_pixels = 0;     // pixels they computed

  // Of all workers together, for a frame, from the timed part of the pixels.
  [[nodiscard]] double seconds_per_frame() const {
    if (timed_pixels == 0 || frames == 0) return 0;
    const double ns_per_pixel = static_cast<double>(timed_ns) / static_cast<double>(timed_pixels);
    return ns_per_pixel * static_cast<double>(pixels_computed) / static_cast<double>(frames) * 1e-9;
  }
};

// By plane, and place and names of the stages: a filter may occur more than once in a pipeline.
using StageReports = std::map<std::pair<int, std::string>, StageReport>;

}  // namespace millrace::image
