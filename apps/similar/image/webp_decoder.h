// Decodes WebP files.
#pragma once

#include "millrace/base/error/result.h"
#include "similar/image/image.h"
#include "similar/image/image_header.h"

#include <cstddef>
#include <span>

namespace millrace::similar {

// As in decode_image(); an animation gives its first picture.
[[nodiscard]] Result<Image> decode_webp(std::span<const std::byte> file, const ImageHeader& header);

}  // namespace millrace::similar
