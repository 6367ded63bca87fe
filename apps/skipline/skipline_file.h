// Skipline files: an encoded image as bytes. The layout is described in docs/skipline.md.
#pragma once

#include "millrace/base/result.h"
#include "skipline/bitmap.h"
#include "skipline/strip.h"
#include "skipline/strip_threads.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace millrace::skipline {

// A file is decoded by as many threads as it has strips, so their number is bounded.
inline constexpr int most_strips = 256;

struct EncodedImage {
  int width = 0;
  int height = 0;
  bool columns = false;  // encoded by columns: the lines of the strips are the columns of the image
  Parameters parameters;
  std::vector<std::vector<std::byte>> strips;  // 1 to most_strips, from the first line to the last
};

// Usage error when a parameter is out of its range, or there are fewer lines than strips.
[[nodiscard]] Status check(const Parameters& parameters, int strips, int lines);

// Encodes by one thread for each strip. The image's lines, or columns, are the lines; where it is to be done
// by columns the image is transposed first. Errors of check() and for_each_strip().
[[nodiscard]] Result<EncodedImage> encode(const Bitmap& image, const Parameters& parameters, int strips,
                                          bool columns, const AtBirth& at_birth = {});

// Decodes by one thread for each strip. A failure names the strip, and the byte in it.
[[nodiscard]] Result<Bitmap> decode(const EncodedImage& image, const AtBirth& at_birth = {});

[[nodiscard]] std::vector<std::byte> file_of(const EncodedImage& image);

// Reads what file_of() makes and checks its checksums. A failure says what is wrong and where without naming
// the file. An image that takes more than `limit` bytes is a failure too (see check_size): a few bytes can
// stand for any size.
[[nodiscard]] Result<EncodedImage> read_skipline(std::span<const std::byte> file,
                                                 std::size_t limit = default_limit);

}  // namespace millrace::skipline
