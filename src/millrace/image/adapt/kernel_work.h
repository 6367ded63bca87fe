// How much a kernel computes for a pixel. Pure.
#pragma once

#include "millrace/image/execute/group_layout.h"

namespace millrace::image {

// What a pixel of the group's output takes, in units of a stage that reads one pixel at the same place.
// Stages are inlined: what a window or a gather reads of an earlier stage is computed anew for each pixel
// that it reads, and what a gather reads lies apart, so that a window below it gathers each of its pixels.
// Where branches read a stage at different places by way of other stages, these are taken for one.
//
// Weights are those of this program's kernels on an AVX2 machine. Of the pipelines of the tests of
// ScheduleGuess the fused ones take half to twice as long beside single stages as this says; where a gather
// reads a window of windows, as in "blur | sobel_x | rotate(30)", a third.
[[nodiscard]] double kernel_work(const Group& group);

}  // namespace millrace::image
