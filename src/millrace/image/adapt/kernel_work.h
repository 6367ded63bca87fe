// Estimates the work of a kernel per pixel. Pure.
#pragma once

#include "millrace/image/execute/group_layout.h"

namespace millrace::image {

// Work per pixel of the group's output, in units of a stage that reads one pixel at the same place. Stages
// are inlined: a window or gather recomputes each pixel that it reads of an earlier stage. Pixels read by a
// gather are scattered, so a window below it gathers each of its pixels. If branches read a stage at
// different places through other stages, these are counted once.
//
// Weights were measured with this program's kernels on an AVX2 machine. For the pipelines in the tests of
// ScheduleGuess, fused kernels take half to twice the predicted time relative to single stages. If a gather
// reads a window of windows, as in "blur | sobel_x | rotate(30)", they take a third.
[[nodiscard]] double kernel_work(const Group& group);

}  // namespace millrace::image
