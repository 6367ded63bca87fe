// Reads and writes Netpbm's portable bitmap format, plain (P1) and raw (P4).
#pragma once

#include "millrace/base/error/result.h"
#include "skipline/bitmap.h"

#include <cstddef>
#include <span>
#include <vector>

namespace millrace::skipline {

// Reads one image, P1 or P4. A failure gives the problem and its position but not the file's name. Truncated
// images and images of more than `limit` bytes (see check_size) are failures.
[[nodiscard]] Result<Bitmap> read_pbm(std::span<const std::byte> file, std::size_t limit = default_limit);

// The most bytes of a file that starts so, from its first file_start_bytes or the whole file if it is
// shorter. Failures of read_pbm() that these bytes show.
[[nodiscard]] Result<std::size_t> most_pbm_bytes(std::span<const std::byte> start,
                                                 std::size_t limit = default_limit);

// Writes P4.
[[nodiscard]] std::vector<std::byte> write_pbm(const Bitmap& bitmap);

}  // namespace millrace::skipline
