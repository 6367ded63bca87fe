// A strip: consecutive lines of an image, encoded by themselves.
#pragma once

#include "millrace/base/result.h"
#include "skipline/bitmap.h"
#include "skipline/threshold_rule.h"

#include <cstddef>
#include <span>
#include <vector>

namespace millrace::skipline {

inline constexpr int most_range = 1024;
inline constexpr int most_skipped = 255;

struct Parameters {
  Variant variant = Variant::basic;
  // The paper's table II: vertical lines yes, range 7, threshold 3.
  bool vertical_lines = true;
  int range = 7;      // 1 to most_range
  int threshold = 3;  // 0 to range
  // Lines skipped after a kept one at most: 0 to most_skipped.
  int skipped = 15;
  bool operator==(const Parameters&) const = default;
};

// Lines first .. first+count of an image, count >= 1.
struct Lines {
  int first = 0;
  int count = 0;
};

// Of `height` lines the `strip`th of `strips` parts that differ by a line at most. 1 <= strips <= height.
[[nodiscard]] constexpr Lines lines_of(int strip, int strips, int height) {
  const auto start = [&](int i) { return static_cast<int>(static_cast<long long>(height) * i / strips); };
  return {start(strip), start(strip + 1) - start(strip)};
}

// How different two lines of an image are: the most pixels that differ within `range` consecutive ones;
// counting stops as soon as it is above `enough`.
[[nodiscard]] int difference(Line a, Line b, int range, int enough);

// Keeps a line, skips those after it that are alike, keeps the next, and so on. A line is alike that differs
// from the kept one by no more than the variant's rule allows, and, with vertical_lines, has no pixel that
// differs and whose neighbour below differs as well: a stroke that goes on is not lost. Where the strip ends
// a pixel has no neighbour.
//
// For each kept line: how many are skipped after it, then its runs, white first, in turn, until the line is
// full. Numbers are LEB128.
[[nodiscard]] std::vector<std::byte> encode_strip(const Bitmap& image, Lines lines,
                                                  const Parameters& parameters);

// Puts the strip into its lines of `image`, which are white: each skipped line becomes the one kept before
// it. A failure says what is wrong and at which byte of the strip; the lines are then incomplete.
[[nodiscard]] Status decode_strip(std::span<const std::byte> strip, Bitmap& image, Lines lines);

}  // namespace millrace::skipline
