// Tells one build of the program from every other.
#pragma once

#include <string>

namespace millrace::image {

// What the machine code of a kernel depends on besides its key, by the program's build id: how kernels are
// called, the filters and what compiles them, of which each program holds the identity (built_in_kernels.h);
// and the version of Halide. Empty where the program was linked without a build id.
[[nodiscard]] std::string program_identity();

}  // namespace millrace::image
