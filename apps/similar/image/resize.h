// Resizing by Lanczos's windowed sinc.
#pragma once

#include "similar/image/image.h"

namespace millrace::similar {

// Both axes with the Lanczos-3 kernel, sinc(x) sinc(x/3), widened by the ratio of sizes where the image gets
// smaller so that nothing aliases; edges are cut off and the weights made to sum to 1 (Turkowski, "Filters
// for Common Resampling Tasks", Graphics Gems, 1990). width, height >= 1; `image` is not empty.
[[nodiscard]] Image resize(const Image& image, int width, int height);

}  // namespace millrace::similar
