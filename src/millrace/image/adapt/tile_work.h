// How much a frame takes, and how much more tiles compute. Pure.
#pragma once

#include "millrace/image/execute/group_layout.h"

namespace millrace::image {

// The work of computing a plane, each of its groups once, in units of kernel_work().
[[nodiscard]] double frame_work(const GroupLayout& layout);

// The work of computing a plane tile by tile, each with all that it needs of the groups before the output,
// over that of computing each group once: at least 1. What a tile needs is what footprints say (section III
// of "execution structures"): around a stencil a rim, behind a rotation the box around a turned tile, which
// for a wide one may be several times its size. From a few tiles across the plane; exact where all need as
// much.
//
// tile: a side of 0 is that of the plane.
[[nodiscard]] double tile_work(const GroupLayout& layout, Size tile);

}  // namespace millrace::image
