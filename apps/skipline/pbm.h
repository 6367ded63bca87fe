// The portable bitmap format of Netpbm, plain (P1) and raw (P4).
#pragma once

#include "millrace/base/result.h"
#include "skipline/bitmap.h"

#include <cstddef>
#include <span>
#include <vector>

namespace millrace::skipline {

// No side is longer, in pixels, and no image has more of them.
inline constexpr int longest_side = 1 << 20;
inline constexpr long long most_pixels = 1LL << 32;

// Reads one image, P1 or P4. A failure says what is wrong and where without naming the file.
[[nodiscard]] Result<Bitmap> read_pbm(std::span<const std::byte> file);

// As P4.
[[nodiscard]] std::vector<std::byte> write_pbm(const Bitmap& bitmap);

}  // namespace millrace::skipline
