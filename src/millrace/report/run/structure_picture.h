// Pictures of how a frame was divided, from what was recorded while it was computed.
#pragma once

#include "millrace/report/run/run_document.h"

#include <span>
#include <string>
#include <vector>

namespace millrace::report {

// Parts of a frame that are measured in pixels; not empty.
struct Box {
  int x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  bool operator==(const Box&) const = default;
};

// What lies in more than one of them, as boxes that do not overlap, row by row. Empty where the boxes' sides
// are too many to tell.
[[nodiscard]] std::vector<Box> overlap_of(std::span<const Box> boxes);
// Pixels in the boxes: each counted as often as it is in one, and each counted once.
struct Coverage {
  double computed = 0;
  double covered = 0;
};
[[nodiscard]] Coverage coverage_of(std::span<const Box> boxes);

// Boxes that follow each other and abut as one, so long as there are more than `most`.
[[nodiscard]] std::vector<Box> merged(std::vector<Box> boxes, std::size_t most);

// The output of a group: each worker's part in its colour, what was computed more than once shaded.
// At most about `most_boxes` of each kind are drawn.
[[nodiscard]] std::string structure_picture(const RecordedFrameOfRun& frame, int group,
                                            std::size_t most_boxes);
// A row for each worker: which group it computed when.
[[nodiscard]] std::string frame_timeline(const RecordedFrameOfRun& frame, std::size_t most_bars);

}  // namespace millrace::report
