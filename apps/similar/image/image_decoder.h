// Decodes JPEG, PNG, GIF and WebP files, and encodes JPEG files.
#pragma once

#include "millrace/base/error/result.h"
#include "similar/image/image.h"
#include "similar/image/image_header.h"

#include <cstddef>
#include <span>
#include <vector>

namespace millrace::similar {

// Decodes the file that `header` was read from, as stored (see upright()). A JPEG is decoded at 1/2, 1/4 or
// 1/8 of its size if that leaves at least `least` pixels on each side; the discrete cosine transform does the
// averaging. Transparent pixels are blended with white. An animation gives its first picture. Thread-safe. A
// failure gives the problem but not the file's name. Damaged or truncated files are failures, even if a part
// can be decoded.
[[nodiscard]] Result<Image> decode_image(std::span<const std::byte> file, const ImageHeader& header,
                                         int least);

// Upper bound in bytes of decode_image()'s memory besides the file, including the returned raster.
[[nodiscard]] std::size_t decoding_bytes(const ImageHeader& header, int least);

// Turns the raster upright according to its Exif orientation (1 to 8).
[[nodiscard]] Image upright(Image image, int orientation);

// quality: 1 to 100.
[[nodiscard]] Result<std::vector<std::byte>> encode_jpeg(const Image& image, int quality);

}  // namespace millrace::similar
