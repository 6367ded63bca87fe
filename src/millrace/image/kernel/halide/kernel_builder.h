// Builds a Halide pipeline from a group of stages, ready to be compiled.
#pragma once

#include "millrace/image/kernel/kernel_spec.h"
#include "millrace/machine/processor/isa.h"

#include <Halide.h>
#include <vector>

namespace millrace::image {

// The pipeline computes any rectangle of its output, serially. `arguments` lists, in this order: the input
// buffers; interior and inner_columns (int32, see Interior); for each stage its width and height (int32),
// fill and coefficients (float), and its table, if it has one, as a buffer of one row. The output and the
// stored buffers follow; Halide wants them unlisted.
//
// If a stage gathers from a buffer, the four corners of that buffer follow it. Each is its memory as one long
// row, with the base address unchanged, moved one pixel right, one row down, and both. The four neighbours of
// a bilinear read then share one index, and two of them one load (paired_loads.h). The corners reach one
// pixel past the buffer on two sides; that memory must exist and hold finite numbers.
//
// If a gathering stage is read at only one constant distance from the output pixel, the indices of a row are
// computed and kept before any pixel is read. In a single loop every read would wait for a long chain of
// arithmetic, and the processor cannot look far enough ahead to fill the time. The indices are on the stack,
// for rows of max_gather_columns; kernels allocate no memory.
struct BuiltKernel {
  Halide::Pipeline pipeline;
  std::vector<Halide::Argument> arguments;
};

// Builds a new pipeline that shares nothing with others; several may be built and compiled in parallel.
[[nodiscard]] BuiltKernel build_kernel(const KernelSpec& spec, const Halide::Target& target);

// The compilation target for an instruction set of this architecture, with strict floating point. Arithmetic
// must not be reordered or contracted, so that all kernels that contain a stage give identical bits for it.
// Kernels check their arguments only in sanitizer builds, see Kernel::run.
[[nodiscard]] Halide::Target kernel_target(machine::Isa isa);

// The same target without argument checks, which are a third of the code to compile.
[[nodiscard]] Halide::Target without_checks(const Halide::Target& target);

}  // namespace millrace::image
