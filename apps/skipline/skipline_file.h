// Skipline files: an encoded image as bytes. docs/skipline.md describes the layout.
#pragma once

#include "millrace/base/error/result.h"
#include "skipline/bitmap.h"
#include "skipline/strip.h"
#include "skipline/strip_threads.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace millrace::skipline {

// Bounds the number of threads: a file is decoded by one thread per strip.
inline constexpr int most_strips = 256;

struct EncodedImage {
  int width = 0;
  int height = 0;
  bool columns = false;  // encoded by columns: the lines of the strips are the image's columns
  Parameters parameters;
  std::vector<std::vector<std::byte>> strips;  // 1 to most_strips, from the first line to the last
};

// Usage error if a parameter is out of range, or if there are fewer lines than strips.
[[nodiscard]] Status check(const Parameters& parameters, int strips, int lines);

// Encodes with one thread per strip. By columns, the image is transposed first and its columns are the lines.
// Errors of check() and for_each_strip().
[[nodiscard]] Result<EncodedImage> encode(const Bitmap& image, const Parameters& parameters, int strips,
                                          bool columns, const AtBirth& at_birth = {});

// Decodes with one thread per strip. A failure names the strip and the byte in it.
[[nodiscard]] Result<Bitmap> decode(const EncodedImage& image, const AtBirth& at_birth = {});

[[nodiscard]] std::vector<std::byte> file_of(const EncodedImage& image);

// Reads what file_of() writes and verifies the checksums. A failure gives the problem and its position but
// not the file's name. An image of more than `limit` bytes is a failure too (see check_size), because a few
// bytes can claim any size.
[[nodiscard]] Result<EncodedImage> read_skipline(std::span<const std::byte> file,
                                                 std::size_t limit = default_limit);

// The most bytes of a file that starts so, from its first file_start_bytes or the whole file if it is
// shorter. Failures of read_skipline() that these bytes show.
[[nodiscard]] Result<std::size_t> most_skipline_bytes(std::span<const std::byte> start,
                                                      std::size_t limit = default_limit);

}  // namespace millrace::skipline
