// Which stages of a layout become one kernel. Pure.
#pragma once

#include "millrace/image/layout/frame_layout.h"
#include "millrace/image/layout/schedule.h"

#include <vector>

namespace millrace::image {

// Stages of each group in topological order; groups in topological order. Only the last stage of a group is
// read from outside it.
using Grouping = std::vector<std::vector<int>>;

// The most stages of one group, and the most buffers it reads.
inline constexpr int max_kernel_stages = 16;
inline constexpr int max_kernel_buffers = 8;

// Every stage in exactly one group; no groups for a neutral plane.
[[nodiscard]] Grouping group_stages(const PlaneLayout& layout, Fusion fusion);

// The groups of backward_store: the last one is the whole pipeline, the others are all that leads to a stage
// before a geometric one. A kernel writes where its output's pixel lies; what a geometric stage reads lies
// elsewhere, and is written to its buffer by a kernel of its own. Every group reads sources alone.
struct StoringGroups {
  Grouping groups;
  Grouping stored;  // by each group, beside its output; every stage but conversions is written once
};

[[nodiscard]] StoringGroups storing_groups(const PlaneLayout& layout);

// The largest kernel that is worth compiling, in stages written out, a gather counting as four. Preset A is
// 22 and takes about a second, three blurs in a row are 1 + 9 + 81 and take six; four blurs would be 820 and
// take minutes.
inline constexpr int max_inlined_stages = 200;

// The most stages that computing one pixel of a group's output evaluates, each as often as it is read: more
// than inlined_stages only where windows are large. What no search should try is far above
// max_inlined_stages.
[[nodiscard]] double evaluations_per_pixel(const PlaneLayout& layout, const Grouping& grouping);

// Whether all stages fit in one kernel, which `backward` needs.
[[nodiscard]] bool fits_one_kernel(const PlaneLayout& layout);

}  // namespace millrace::image
