// How much a kernel computes for a pixel. Pure.
#pragma once

#include "millrace/image/kernel/kernel_spec.h"

namespace millrace::image {

// What a pixel of the kernel's output takes, in units of a stage that reads one pixel at the same place.
// Stages are inlined: what a window or a gather reads of an earlier stage is computed anew for each pixel
// that it reads, and what a gather reads lies apart, so that a window below it gathers each of its pixels.
//
// Weights are those of this program's kernels on an AVX2 machine. Of eight pipelines in tiles, each fused in
// two ways, kernels took 0.7 to 1.6 times as long beside single stages as this says; where a gather reads a
// window of windows, a third.
[[nodiscard]] double kernel_work(const KernelSpec& spec);

}  // namespace millrace::image
