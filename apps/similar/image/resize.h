// Resizes images with a Lanczos filter.
#pragma once

#include "similar/image/image.h"

namespace millrace::similar {

// Applies the Lanczos-3 kernel, sinc(x) sinc(x/3), to both axes. When shrinking, the kernel is widened by the
// ratio of sizes to avoid aliasing. At edges it is truncated and the weights are normalised to a sum of 1
// (Turkowski, "Filters for Common Resampling Tasks", Graphics Gems, 1990). width, height >= 1; `image` is not
// empty.
[[nodiscard]] Image resize(const Image& image, int width, int height);

}  // namespace millrace::similar
