// What to compile: a group of stages as one kernel. A value; equal keys mean equal machine code.
#pragma once

#include "millrace/base/result.h"
#include "millrace/image/filter/filter.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::image {

// The most columns that a kernel with a gathering stage computes in one call: it keeps numbers for each of a
// row on the stack. Kernel::run divides what is wider.
inline constexpr int max_gather_columns = 256;

// One stage of a group. An input is either a buffer given to the kernel or an earlier stage of the group.
struct KernelStage {
  FilterRef filter;
  std::vector<int> inputs;  // k >= 0: stage k of the group; -1-k: buffer k
};

// A group whose last stage is its output. The `stored` stages are written out as well, each to a buffer of
// its own in the output's coordinates; only stages that reach the output through pointwise and stencil stages
// can be.
struct KernelSpec {
  std::vector<KernelStage> stages;
  int buffers = 1;
  std::vector<int> stored;

  [[nodiscard]] ElementType buffer_type(int buffer) const;
  // Whether a stage reads its input in this way.
  [[nodiscard]] bool has(Access access) const;
  [[nodiscard]] bool reads_around() const { return has(Access::stencil) || has(Access::window); }
  // Whether a stage gathers from this buffer, whose corners are then handed over too, see kernel_builder.h.
  [[nodiscard]] bool gathered(int buffer) const;
  [[nodiscard]] ElementType output_type() const { return stages.back().filter->output_type; }
  // "blur(i0);sobel_x(0)": names the group in caches, reports, traces and to the compiler. Filters go by
  // their identity().
  [[nodiscard]] std::string key() const;
};

// The inverse of KernelSpec::key, where every buffer is read by a stage. An Error for what is no key, and
// where neither this program nor `own` has a filter of an identity in it.
[[nodiscard]] Result<KernelSpec> parse_kernel_spec(std::string_view key, std::span<const FilterRef> own = {});

// The kernel of one filter on its own: what is built ahead of time.
[[nodiscard]] KernelSpec single_stage(const FilterRef& filter);

}  // namespace millrace::image
