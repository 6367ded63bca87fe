// Identifies the call site of a loop of OpenCV.
#pragma once

#include <cstdint>

namespace millrace::opencv {

// Equal for loops of the same kind and number of parts. `data` is what OpenCV passes to a backend with its
// callback. The kind is the type of the loop's body, or of the function in it. It is read from the objects
// behind `data`, but only if they are on the calling thread's stack, where OpenCV keeps them. Otherwise all
// loops with the same number of parts count as one site.
[[nodiscard]] std::uint64_t call_site(const void* data, int count);

}  // namespace millrace::opencv
