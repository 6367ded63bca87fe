// The natural cubic spline through points: second derivatives are 0 at both ends.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace millrace::image::filters {

struct CurvePoint {
  double x;
  double y;
};

class NaturalSpline {
 public:
  // At least two points, with increasing x.
  explicit NaturalSpline(std::vector<CurvePoint> points)
      : points_(std::move(points)), bends_(points_.size(), 0.0) {
    // Solves a tridiagonal system for the second derivatives: forward elimination, then back substitution.
    const std::size_t last = points_.size() - 1;
    std::vector<double> upper(points_.size(), 0.0);
    for (std::size_t i = 1; i < last; ++i) {
      const double before = points_[i].x - points_[i - 1].x;
      const double after = points_[i + 1].x - points_[i].x;
      const double right =
          6 * ((points_[i + 1].y - points_[i].y) / after - (points_[i].y - points_[i - 1].y) / before);
      const double pivot = 2 * (before + after) - before * upper[i - 1];
      upper[i] = after / pivot;
      bends_[i] = (right - before * bends_[i - 1]) / pivot;
    }
    for (std::size_t i = last; i-- > 1;)
      bends_[i] -= upper[i] * bends_[i + 1];
  }

  // Constant before the first point and after the last.
  [[nodiscard]] double operator()(double x) const {
    if (x <= points_.front().x) return points_.front().y;
    if (x >= points_.back().x) return points_.back().y;
    const auto next = std::ranges::upper_bound(points_, x, {}, &CurvePoint::x);
    const auto i = static_cast<std::size_t>(next - points_.begin());
    const CurvePoint& left = points_[i - 1];
    const CurvePoint& right = points_[i];
    const double width = right.x - left.x;
    const double a = (right.x - x) / width;
    const double b = (x - left.x) / width;
    return a * left.y + b * right.y +
           ((a * a * a - a) * bends_[i - 1] + (b * b * b - b) * bends_[i]) * width * width / 6;
  }

 private:
  std::vector<CurvePoint> points_;
  std::vector<double> bends_;  // second derivatives
};

}  // namespace millrace::image::filters
