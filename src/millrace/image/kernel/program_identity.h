// Tells one build of the program from every other.
#pragma once

#include <string>

namespace millrace::image {

// What the machine code of a kernel depends on besides its key: the filters, which are part of this program,
// by the program's build id; and the version of the compiler. Empty where the program was linked without a
// build id.
[[nodiscard]] std::string program_identity();

}  // namespace millrace::image
