// A strip: consecutive lines of an image, encoded independently of other strips.
#pragma once

#include "millrace/base/error/result.h"
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
  // Defaults from the paper's table II: vertical lines yes, range 7, threshold 3.
  bool vertical_lines = true;
  int range = 7;      // 1 to most_range
  int threshold = 3;  // 0 to range
  // Maximum number of lines skipped after a kept one: 0 to most_skipped.
  int skipped = 15;
  bool operator==(const Parameters&) const = default;
};

// Lines first .. first+count-1 of an image, count >= 1.
struct Lines {
  int first = 0;
  int count = 0;
};

// The lines of one strip if `height` lines are divided into `strips` parts that differ by at most one line. 1
// <= strips <= height.
[[nodiscard]] constexpr Lines lines_of(int strip, int strips, int height) {
  const auto start = [&](int i) { return static_cast<int>(static_cast<long long>(height) * i / strips); };
  return {start(strip), start(strip + 1) - start(strip)};
}

// How different two lines are: the maximum number of differing pixels within `range` consecutive ones.
// Counting stops once it exceeds `enough`.
[[nodiscard]] int difference(Line a, Line b, int range, int enough);

// Keeps a line, skips the similar lines after it, keeps the next, and so on. A line is similar if it differs
// from the kept one by at most what the variant's rule allows. With vertical_lines, no differing pixel may
// also have a differing neighbour below, so that long strokes are not lost. In the strip's last line a pixel
// has no neighbour below.
//
// Output for each kept line: the number of skipped lines after it, then its run lengths, white first,
// alternating, until the line is full. Numbers are LEB128.
[[nodiscard]] std::vector<std::byte> encode_strip(const Bitmap& image, Lines lines,
                                                  const Parameters& parameters);

// Decodes the strip into its lines of `image`, which must be white. Each skipped line becomes a copy of the
// kept line before it. A failure gives the problem and the byte in the strip; the lines are then incomplete.
[[nodiscard]] Status decode_strip(std::span<const std::byte> strip, Bitmap& image, Lines lines);

}  // namespace millrace::skipline
