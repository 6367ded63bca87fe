#pragma once

#include "millrace/image/filters/bilinear.h"
#include "millrace/image/filters/interval.h"

#include <algorithm>

namespace millrace::image::filters {

// Removes the radial distortion of a lens (Brown's model, two terms) with bilinear interpolation, in luma
// samples. R is half the diagonal, hypot(W,H)/2, and d the offset from the centre divided by R:
//   source = centre + R*d*(1 + k1*|d|^2 + k2*|d|^4)
// If samples of a plane are two luma samples wide, or `shape` times as high as wide, lengths are in units of
// the sample width: |d|^2 = (x^2 + shape^2 * y^2) / R^2.
struct Undistort : SameSize {
  static constexpr Access access = Access::gather;

  static Filter about() {
    return {
        .name = "undistort",
        .summary = "remove radial lens distortion, bilinear; negative k1 straightens a barrel",
        .geometric = true,
        .parameters = {
            {.name = "k1", .summary = "term of the squared radius", .minimum = -1, .maximum = 1},
            {.name = "k2", .summary = "term of its square", .minimum = -1, .maximum = 1, .required = false}}};
  }

  // 0: k1/R^2, 1: k2/R^4, 2: cx, 3: cy, 4: shape^2
  static Coefficients coefficients(const PlaneGeometry& input, const ParameterValues& values) {
    const double w = double(input.luma.width) / input.step_x;
    const double h = double(input.luma.height) / input.step_x;
    const double radius2 = (w * w + h * h) / 4;
    const double shape = sample_shape(input);
    return {static_cast<float>(values[0] / radius2), static_cast<float>(values[1] / (radius2 * radius2)),
            centre(input.size.width), centre(input.size.height), static_cast<float>(shape * shape)};
  }

  // Bounds the source coordinates over the rectangle in two ways and intersects them. The product of two
  // ranges is tight for large rectangles; the mean value theorem (centre and steepest slope) for small ones.
  static Rect footprint(const Rect& output, const PlaneGeometry& /*input*/, const Coefficients& k) {
    const double k1 = k[0];
    const double k2 = k[1];
    const Interval x{output.x0 - double{k[2]}, output.x1 - 1 - double{k[2]}};
    const Interval y{output.y0 - double{k[3]}, output.y1 - 1 - double{k[3]}};
    // s = x^2 + y_weight * y^2
    const double y_weight = k[4];
    const Interval s = square(x) + y_weight * square(y);
    const Interval factor = factor_range(s, k1, k2);
    const Interval slope = k1 + 2 * k2 * s;  // derivative of the factor with respect to s
    const double middle_factor =
        factor_at(x.centre() * x.centre() + y_weight * y.centre() * y.centre(), k1, k2);
    const auto source = [&](const Interval& v, double weight, const Interval& other, double other_weight) {
      const double middle = v.centre() * middle_factor;
      const double reach = (factor + 2 * weight * square(v) * slope).magnitude() * v.radius() +
                           (2 * other_weight * v * other * slope).magnitude() * other.radius();
      return intersection(v * factor, {middle - reach, middle + reach});
    };
    const Interval sx = source(x, 1, y, y_weight);
    const Interval sy = source(y, y_weight, x, 1);
    return bilinear_footprint(k[2] + sx.low, k[3] + sy.low, k[2] + sx.high, k[3] + sy.high);
  }

  static double factor_at(double s, double k1, double k2) { return 1 + s * (k1 + s * k2); }

  // A parabola has its extremes at the ends or at its vertex.
  static Interval factor_range(const Interval& s, double k1, double k2) {
    const double turning = k2 == 0 ? s.low : std::clamp(-k1 / (2 * k2), s.low, s.high);
    const auto [low, high] =
        std::minmax({factor_at(s.low, k1, k2), factor_at(turning, k1, k2), factor_at(s.high, k1, k2)});
    return {low, high};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Float = typename A::Float;
    const Float dx = A::to_float(x) - a.coefficient(2);
    const Float dy = A::to_float(y) - a.coefficient(3);
    const Float s = dx * dx + a.coefficient(4) * (dy * dy);
    const Float factor = 1.0F + s * (a.coefficient(0) + s * a.coefficient(1));
    return bilinear(a, a.coefficient(2) + dx * factor, a.coefficient(3) + dy * factor);
  }
};

}  // namespace millrace::image::filters
