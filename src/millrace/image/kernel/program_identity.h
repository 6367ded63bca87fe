// Distinguishes one build of the program from every other.
#pragma once

#include <string>

namespace millrace::image {

// Identifies everything that a kernel's machine code depends on besides its key. The build id covers the
// calling convention, the filters and the compiler, whose identity each program holds (built_in_kernels.h).
// The version of Halide is added. Empty if the program was linked without a build id.
[[nodiscard]] std::string program_identity();

}  // namespace millrace::image
