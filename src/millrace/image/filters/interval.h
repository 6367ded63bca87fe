// Interval arithmetic: bounds a formula while its variables range over a rectangle. It is monotonic: a
// smaller interval gives a result within that of a larger one.
#pragma once

#include <algorithm>
#include <cmath>

namespace millrace::image::filters {

// The real numbers from low to high; low <= high.
struct Interval {
  double low = 0;
  double high = 0;

  [[nodiscard]] double centre() const { return (low + high) / 2; }
  [[nodiscard]] double radius() const { return (high - low) / 2; }
  // The greatest absolute value.
  [[nodiscard]] double magnitude() const { return std::max(std::abs(low), std::abs(high)); }
};

inline Interval operator+(const Interval& a, const Interval& b) { return {a.low + b.low, a.high + b.high}; }
inline Interval operator+(double a, const Interval& b) { return {a + b.low, a + b.high}; }

inline Interval operator*(const Interval& a, const Interval& b) {
  const auto [low, high] = std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
  return {low, high};
}
inline Interval operator*(double a, const Interval& b) { return Interval{a, a} * b; }

// Tighter than a * a, which treats the factors as independent.
inline Interval square(const Interval& a) {
  const auto [low, high] = std::minmax({a.low * a.low, a.high * a.high});
  return {a.low <= 0 && a.high >= 0 ? 0.0 : low, high};
}

// For two intervals that contain the same number.
inline Interval intersection(const Interval& a, const Interval& b) {
  return {std::max(a.low, b.low), std::min(a.high, b.high)};
}

}  // namespace millrace::image::filters
