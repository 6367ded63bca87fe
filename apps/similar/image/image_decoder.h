// JPEG, PNG, GIF and WebP files as rasters, and rasters as JPEG files.
#pragma once

#include "millrace/base/result.h"
#include "similar/image/image.h"
#include "similar/image/image_header.h"

#include <cstddef>
#include <span>
#include <vector>

namespace millrace::similar {

// Decodes the file that `header` was read from, as stored (see upright()). A JPEG is decoded at 1/2, 1/4 or
// 1/8 of its size where that leaves at least `least` pixels on each side: the discrete cosine transform does
// the averaging. Transparency is laid over white; of an animation the first picture counts. Safe to call from
// several threads. A failure says what is wrong without naming the file; what is damaged or cut short is a
// failure, also where a part can be decoded.
[[nodiscard]] Result<Image> decode_image(std::span<const std::byte> file, const ImageHeader& header,
                                         int least);

// What decode_image() takes at most beside the file, in bytes, the raster that it returns included.
[[nodiscard]] std::size_t decoding_bytes(const ImageHeader& header, int least);

// The raster turned as Exif's orientation (1 to 8) says.
[[nodiscard]] Image upright(Image image, int orientation);

// quality: 1 to 100.
[[nodiscard]] Result<std::vector<std::byte>> encode_jpeg(const Image& image, int quality);

}  // namespace millrace::similar
