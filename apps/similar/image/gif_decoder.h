// Decodes GIF files.
#pragma once

#include "millrace/base/error/result.h"
#include "similar/image/image.h"
#include "similar/image/image_header.h"

#include <cstddef>
#include <span>

namespace millrace::similar {

// Decodes the first picture as in decode_image(). Pixels that are transparent or not covered become white.
// Later pictures are ignored.
[[nodiscard]] Result<Image> decode_gif(std::span<const std::byte> file, const ImageHeader& header);

}  // namespace millrace::similar
