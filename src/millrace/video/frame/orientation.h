// Turning and mirroring frames by right angles, as cameras ask for that are held upright.
#pragma once

#include "millrace/video/frame/frame.h"

namespace millrace::video {

// The sample at (x, y) comes from the column and row (x, y), or (y, x) where it is transposed, each counted
// from the other side where that is mirrored.
struct Orientation {
  bool transposed = false;
  bool columns_mirrored = false;
  bool rows_mirrored = false;

  [[nodiscard]] bool is_upright() const { return !transposed && !columns_mirrored && !rows_mirrored; }
  bool operator==(const Orientation&) const = default;
};

// What a format becomes: its size, the shape of its samples and the place of its chroma, which is unspecified
// where H.273 has no name for it. Chroma that is halved in one direction alone is no longer halved where
// frames are transposed.
[[nodiscard]] FrameFormat oriented(const FrameFormat& format, const Orientation& orientation);

// The samples of a plane. `to` has the size of `from`, transposed where that is asked for; bytes_per_sample:
// 1 or 2.
void orient_plane(const PlaneView& from, const PlaneView& to, int bytes_per_sample,
                  const Orientation& orientation);

}  // namespace millrace::video
