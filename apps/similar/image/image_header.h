// Reads format, size and orientation from the first bytes of an image file.
#pragma once

#include "millrace/base/error/result.h"

#include <cstddef>
#include <span>

namespace millrace::similar {

enum class ImageFormat { jpeg, png, gif, webp };

struct ImageHeader {
  ImageFormat format = ImageFormat::jpeg;
  int width = 0;   // as stored, before the orientation is applied
  int height = 0;  // likewise
  // Exif tag 0x0112, 1 to 8: how to turn the stored raster upright. 1 (already upright) if there is no tag.
  int orientation = 1;
  int channels = 3;       // of a JPEG: its components
  bool animated = false;  // of a WebP
  // For a JPEG: whether all coefficients must be in memory before the first row is known, because the file is
  // progressive or stores its components one after another.
  bool needs_coefficients = false;
};

// Images with more pixels are refused, because a few hundred bytes can claim any size.
inline constexpr long long most_pixels = 1LL << 28;

// `file` is a whole file or its beginning. A failure gives the problem but not the file's name: "a TIFF
// image; ...", "empty", "damaged: ...".
[[nodiscard]] Result<ImageHeader> read_image_header(std::span<const std::byte> file);

}  // namespace millrace::similar
