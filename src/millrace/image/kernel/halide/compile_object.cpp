#include "millrace/image/kernel/halide/compile_object.h"

#include "millrace/image/kernel/compiler_message.h"
#include "millrace/image/kernel/halide/halide_errors.h"
#include "millrace/image/kernel/halide/kernel_builder.h"

#include <Halide.h>
#include <cstring>

namespace millrace::image {

Result<std::vector<std::byte>> compile_object(const KernelSpec& spec, machine::Isa isa) {
  return without_halide_errors([&]() -> Result<std::vector<std::byte>> {
    // A kernel that checks its arguments would call Halide's runtime.
    const Halide::Target target = without_checks(kernel_target(isa)).with_feature(Halide::Target::NoRuntime);
    BuiltKernel built = build_kernel(spec, target);
    const auto code =
        built.pipeline.compile_to_module(built.arguments, object_function, target).compile_to_buffer();
    std::vector<std::byte> object(code.size_in_bytes());
    std::memcpy(object.data(), code.data(), object.size());
    return object;
  });
}

}  // namespace millrace::image
