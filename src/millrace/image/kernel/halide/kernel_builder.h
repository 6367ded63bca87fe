// From a group of stages to a Halide pipeline, ready to be compiled.
#pragma once

#include "millrace/image/kernel/kernel_spec.h"
#include "millrace/machine/processor/isa.h"

#include <Halide.h>
#include <vector>

namespace millrace::image {

// The pipeline computes any rectangle of its output, serially. Its arguments, in the order of `arguments`:
// the input buffers; then interior and inner_columns (int32, see Interior); then for each stage width and
// height (int32), fill and the coefficients (float), and its table where its filter has one, as a buffer of
// one row; then (not listed, as Halide wants it) the output and the stored buffers.
//
// A buffer that a stage gathers from is followed by its four corners: its memory as one long row, as it is,
// and with the base address moved by one pixel to the right, by one row down, and by both. The four
// neighbours of a bilinear read then share one index, and two of them one load (paired_loads.h). The corners
// reach one pixel past the buffer on two sides; that memory must exist and hold finite numbers.
//
// Where a gathering stage is read at one constant distance from the output's pixel, the indices of a row are
// computed and kept before any pixel is read. In one loop every read would wait for a long chain of
// arithmetic, and the processor cannot look far enough ahead to fill the time. The room for them is on the
// stack, for rows of max_gather_columns; kernels allocate no memory.
struct BuiltKernel {
  Halide::Pipeline pipeline;
  std::vector<Halide::Argument> arguments;
};

// Builds a fresh pipeline that shares nothing with any other; several may be built and compiled at once.
[[nodiscard]] BuiltKernel build_kernel(const KernelSpec& spec, const Halide::Target& target);

// The compilation target for an instruction set of this architecture, with strict floating point: identical
// bits in every kernel that contains a stage need arithmetic that is neither reordered nor contracted.
// Kernels check their arguments in sanitizer builds only, see Kernel::run.
[[nodiscard]] Halide::Target kernel_target(machine::Isa isa);

// The same target without any check of a kernel's arguments, which is a third of what there is to compile.
[[nodiscard]] Halide::Target without_checks(const Halide::Target& target);

}  // namespace millrace::image
