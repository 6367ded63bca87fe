#include "millrace/image/kernel/built_in_kernels.h"

#include "millrace/image/kernel/code_resample_kernel.h"
#include "millrace/image/kernel/lookup_kernel.h"
#include "millrace/image/kernel/moved_input_kernel.h"
#include "millrace/image/kernel/patch_kernel.h"
#include "millrace/image/kernel/resample_x_kernel.h"
#include "millrace/image/kernel/swap_axes_kernel.h"
#include "millrace/image/kernel/tone_kernel.h"

namespace millrace::image {
namespace {

struct BuiltInKernel {
  std::string_view filter;
  machine::Isa isa;
  int (*function)(void** arguments);
};

}  // namespace
}  // namespace millrace::image

#include "kernel_table.inc"

namespace millrace::image {
namespace {

class AheadOfTimeKernel final : public Kernel {
 public:
  AheadOfTimeKernel(const Filter& filter, int (*function)(void**))
      : Kernel(single_stage(&filter)), function_(function) {}

 private:
  int invoke(std::span<void*> arguments) const override { return function_(arguments.data()); }

  int (*function_)(void** arguments);
};

}  // namespace

std::shared_ptr<const Kernel> built_in_kernel(const Filter& filter, machine::Isa isa) {
  if (filter.simple().formula) return nullptr;
  auto written = filter.name == "lookup_8"     ? lookup_kernel(isa)
                 : filter.name == "resample_x" ? resample_x_kernel(isa)
                                               : code_resample_kernel(filter, isa);
  if (!written) written = swap_axes_kernel(filter);
  if (!written) written = moved_input_kernel(filter);
  if (!written) written = patch_kernel(filter);
  if (!written) written = tone_kernel(filter, isa);
  if (written) return written;
  for (const BuiltInKernel& kernel : built_in_kernels) {
    if (kernel.filter == filter.name && kernel.isa == isa) {
      return std::make_shared<AheadOfTimeKernel>(filter, kernel.function);
    }
  }
  return nullptr;
}

std::string_view kernel_compiler_identity() { return compiler_identity; }

}  // namespace millrace::image
