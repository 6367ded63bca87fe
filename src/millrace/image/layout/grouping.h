// Decides which stages of a layout become one kernel. Pure.
#pragma once

#include "millrace/image/layout/frame_layout.h"
#include "millrace/image/layout/schedule.h"

#include <vector>

namespace millrace::image {

// Groups, and the stages of each group, in topological order. Only the last stage of a group is read from
// outside it.
using Grouping = std::vector<std::vector<int>>;

// Maximum number of stages in a group and of buffers that it reads.
inline constexpr int max_kernel_stages = 16;
inline constexpr int max_kernel_buffers = 8;

// Every stage is in exactly one group. A neutral plane has no groups.
[[nodiscard]] Grouping group_stages(const PlaneLayout& layout, Fusion fusion);

// The groups of backward_store. The last one is the whole pipeline; each of the others is everything that
// leads to the input of a geometric stage. A kernel can store only at the position of its output pixel. A
// geometric stage reads other positions, so a separate kernel stores its input. Every group reads only
// sources.
struct StoringGroups {
  Grouping groups;
  Grouping stored;  // per group, in addition to its output; each stage except conversions is stored once
};

[[nodiscard]] StoringGroups storing_groups(const PlaneLayout& layout);

// Largest kernel worth compiling, in inlined stages; a gather counts as four. Preset A is 22 and takes about
// a second. Three blurs in a row are 1 + 9 + 81 and take six seconds. Four blurs would be 820 and take
// minutes.
inline constexpr int max_inlined_stages = 200;

// Maximum over the groups of the number of stages evaluated per output pixel, counting each as often as it is
// read. Exceeds inlined_stages only for large windows. A search should skip values far above
// max_inlined_stages.
[[nodiscard]] double evaluations_per_pixel(const PlaneLayout& layout, const Grouping& grouping);

// Whether all stages fit in one kernel, as `backward` requires.
[[nodiscard]] bool fits_one_kernel(const PlaneLayout& layout);

}  // namespace millrace::image
