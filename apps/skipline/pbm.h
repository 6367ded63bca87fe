// The portable bitmap format of Netpbm, plain (P1) and raw (P4).
#pragma once

#include "millrace/base/result.h"
#include "skipline/bitmap.h"

#include <cstddef>
#include <span>
#include <vector>

namespace millrace::skipline {

// Reads one image, P1 or P4. A failure says what is wrong and where without naming the file. Of an image that
// takes more than `limit` bytes (see check_size), or that is cut short, nothing is kept.
[[nodiscard]] Result<Bitmap> read_pbm(std::span<const std::byte> file, std::size_t limit = default_limit);

// As P4.
[[nodiscard]] std::vector<std::byte> write_pbm(const Bitmap& bitmap);

}  // namespace millrace::skipline
