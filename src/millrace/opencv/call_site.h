// Where a loop of OpenCV comes from.
#pragma once

#include <cstdint>

namespace millrace::opencv {

// Equal for loops of one kind and number of parts; `data` is what OpenCV hands to a backend with its
// callback. What kind it is, is read from the objects behind `data` as far as those lie on the stack of the
// calling thread, where OpenCV has them: the type of the body, or of the function in it. Elsewhere nothing is
// read, and loops of as many parts are one site.
[[nodiscard]] std::uint64_t call_site(const void* data, int count);

}  // namespace millrace::opencv
