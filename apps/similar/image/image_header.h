// What the first bytes of an image file tell: its format, size and orientation.
#pragma once

#include "millrace/base/result.h"

#include <cstddef>
#include <span>

namespace millrace::similar {

enum class ImageFormat { jpeg, png, gif, webp };

struct ImageHeader {
  ImageFormat format = ImageFormat::jpeg;
  int width = 0;   // as stored, before the orientation is applied
  int height = 0;  //
  // Exif's tag 0x0112, 1 to 8: how the stored raster is to be turned to be upright. 1, upright, where there
  // is none.
  int orientation = 1;
  int channels = 3;       // of a JPEG: its components
  bool animated = false;  // of a WebP
  // Of a JPEG: whether all its coefficients have to be in memory before the first row is known, as it is
  // progressive or its components come one after another.
  bool needs_coefficients = false;
};

// More pixels than this are refused: a few hundred bytes can claim any size.
inline constexpr long long most_pixels = 1LL << 28;

// `file` is a whole file or its beginning. A failure says what is wrong without naming the file: "a TIFF
// image; ...", "empty", "damaged: ...".
[[nodiscard]] Result<ImageHeader> read_image_header(std::span<const std::byte> file);

}  // namespace millrace::similar
