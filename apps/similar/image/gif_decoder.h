// GIF files as rasters.
#pragma once

#include "millrace/base/result.h"
#include "similar/image/image.h"
#include "similar/image/image_header.h"

#include <cstddef>
#include <span>

namespace millrace::similar {

// The first picture, as decode_image() has it: what it leaves transparent or does not cover is white. Those
// that follow are not looked at.
[[nodiscard]] Result<Image> decode_gif(std::span<const std::byte> file, const ImageHeader& header);

}  // namespace millrace::similar
