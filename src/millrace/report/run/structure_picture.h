// Pictures of how a frame was divided, from the recording of its computation.
#pragma once

#include "millrace/report/run/run_document.h"

#include <span>
#include <string>
#include <vector>

namespace millrace::report {

// A part of a frame in pixels; not empty.
struct Box {
  int x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  bool operator==(const Box&) const = default;
};

// The area covered by more than one box, as disjoint boxes, row by row. Empty if there are too many distinct
// edges to compute it.
[[nodiscard]] std::vector<Box> overlap_of(std::span<const Box> boxes);
// Pixels in the boxes: computed counts each box, covered counts each pixel once.
struct Coverage {
  double computed = 0;
  double covered = 0;
};
[[nodiscard]] Coverage coverage_of(std::span<const Box> boxes);

// Merges adjacent consecutive boxes while there are more than `most`.
[[nodiscard]] std::vector<Box> merged(std::vector<Box> boxes, std::size_t most);

// The output of a group: each worker's part in its colour, with pixels computed more than once shaded. At
// most about `most_boxes` of each kind are drawn.
[[nodiscard]] std::string structure_picture(const RecordedFrameOfRun& frame, int group,
                                            std::size_t most_boxes);
// A row per worker that shows which group it computed when.
[[nodiscard]] std::string frame_timeline(const RecordedFrameOfRun& frame, std::size_t most_bars);

}  // namespace millrace::report
