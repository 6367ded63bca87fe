// Rotates and mirrors frames in steps of 90 degrees, for cameras that store frames unrotated with a tag.
#pragma once

#include "millrace/video/frame/frame.h"

namespace millrace::video {

// The output sample at (x, y) comes from input column and row (x, y), or (y, x) if transposed. A mirrored
// direction counts from the opposite side.
struct Orientation {
  bool transposed = false;
  bool columns_mirrored = false;
  bool rows_mirrored = false;

  [[nodiscard]] bool is_upright() const { return !transposed && !columns_mirrored && !rows_mirrored; }
  bool operator==(const Orientation&) const = default;
};

// The format after rotation: size, sample aspect ratio and chroma location. The location is unspecified if
// H.273 has no name for it. Transposing removes chroma subsampling in a single direction (4:2:2).
[[nodiscard]] FrameFormat oriented(const FrameFormat& format, const Orientation& orientation);

// Rotates one plane. `to` has the size of `from`, transposed if asked for. bytes_per_sample is 1 or 2.
void orient_plane(const PlaneView& from, const PlaneView& to, int bytes_per_sample,
                  const Orientation& orientation);

}  // namespace millrace::video
