// Estimates the work of a frame, and the extra work of tiles. Pure.
#pragma once

#include "millrace/image/execute/group_layout.h"

namespace millrace::image {

// Work of computing each group of a plane once, in units of kernel_work().
[[nodiscard]] double frame_work(const GroupLayout& layout);

// Work of computing a plane by tiles, each with its required input, relative to computing each group once: at
// least 1. Footprints give the input of a tile (section III of "execution structures"). A stencil needs a
// rim; a rotation needs the bounding box of a turned tile, which for a wide tile may be several times its
// size. Samples a few tiles across the plane; exact if all need the same amount.
//
// tile: a side of 0 is that of the plane.
[[nodiscard]] double tile_work(const GroupLayout& layout, Size tile);

}  // namespace millrace::image
