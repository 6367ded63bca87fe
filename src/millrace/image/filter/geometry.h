// Sizes and rectangles of pixels in the coordinates of one plane: x to the right, y down, pixel centres at
// integers.
#pragma once

#include <algorithm>
#include <cstdint>

namespace millrace::image {

struct Size {
  int width = 0;
  int height = 0;

  [[nodiscard]] std::int64_t pixels() const { return std::int64_t{width} * height; }
  bool operator==(const Size&) const = default;
};

// The pixels [x0, x1) x [y0, y1).
struct Rect {
  int x0 = 0;
  int y0 = 0;
  int x1 = 0;
  int y1 = 0;

  [[nodiscard]] int width() const { return x1 - x0; }
  [[nodiscard]] int height() const { return y1 - y0; }
  [[nodiscard]] bool empty() const { return x1 <= x0 || y1 <= y0; }
  [[nodiscard]] std::int64_t pixels() const { return empty() ? 0 : std::int64_t{width()} * height(); }
  [[nodiscard]] bool contains(const Rect& other) const {
    return other.empty() || (x0 <= other.x0 && other.x1 <= x1 && y0 <= other.y0 && other.y1 <= y1);
  }
  bool operator==(const Rect&) const = default;
};

[[nodiscard]] inline Rect whole(Size size) { return {0, 0, size.width, size.height}; }

[[nodiscard]] inline Rect intersection(const Rect& a, const Rect& b) {
  return {std::max(a.x0, b.x0), std::max(a.y0, b.y0), std::min(a.x1, b.x1), std::min(a.y1, b.y1)};
}

// The smallest rectangle that contains both. An empty one is ignored.
[[nodiscard]] inline Rect bounding(const Rect& a, const Rect& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.x0, b.x0), std::min(a.y0, b.y0), std::max(a.x1, b.x1), std::max(a.y1, b.y1)};
}

[[nodiscard]] inline Rect grown(const Rect& r, int margin) {
  return {r.x0 - margin, r.y0 - margin, r.x1 + margin, r.y1 + margin};
}

[[nodiscard]] inline Rect shifted(const Rect& r, int dx, int dy) {
  return {r.x0 + dx, r.y0 + dy, r.x1 + dx, r.y1 + dy};
}

}  // namespace millrace::image
