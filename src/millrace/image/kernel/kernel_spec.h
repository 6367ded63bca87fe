// Specifies what to compile: a group of stages as one kernel. A value; equal keys mean equal machine code.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/image/filter/filter.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::image {

// Maximum number of columns that a kernel with a gathering stage computes per call, because it keeps values
// for each column of a row on the stack. Kernel::run splits wider rectangles.
inline constexpr int max_gather_columns = 256;

// One stage of a group. An input is either a buffer passed to the kernel or an earlier stage of the group.
struct KernelStage {
  FilterRef filter;
  std::vector<int> inputs;  // k >= 0: stage k of the group; -1-k: buffer k
};

// A group; its last stage is the output. The `stored` stages are also written, each to a buffer of its own in
// the output's coordinates. A stage can be stored only if it reaches the output through pointwise and stencil
// stages.
struct KernelSpec {
  std::vector<KernelStage> stages;
  int buffers = 1;
  std::vector<int> stored;

  [[nodiscard]] ElementType buffer_type(int buffer) const;
  // Whether any stage has this access.
  [[nodiscard]] bool has(Access access) const;
  [[nodiscard]] bool reads_around() const { return has(Access::stencil) || has(Access::window); }
  // Whether a stage gathers from this buffer. Its corners are then passed too, see kernel_builder.h.
  [[nodiscard]] bool gathered(int buffer) const;
  [[nodiscard]] ElementType output_type() const { return stages.back().filter->simple().output_type; }
  // "blur(i0);sobel_x(0)": identifies the group in caches, reports, traces and compiler requests. Filters are
  // named by identity().
  [[nodiscard]] std::string key() const;
};

// Inverse of KernelSpec::key for specs in which a stage reads every buffer. Returns an Error if it is not a
// key, or if a filter is neither built in nor in `own`.
[[nodiscard]] Result<KernelSpec> parse_kernel_spec(std::string_view key, std::span<const FilterRef> own = {});

// The kernel of one filter by itself, as built ahead of time.
[[nodiscard]] KernelSpec single_stage(const FilterRef& filter);

}  // namespace millrace::image
