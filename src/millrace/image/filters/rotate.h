#pragma once

#include "millrace/image/filters/bilinear.h"
#include "millrace/image/filters/interval.h"

#include <array>
#include <numbers>

namespace millrace::image::filters {

// Rotates about the centre with bilinear interpolation, in luma samples:
//   source x = cx + cos*(x-cx) + sin*(y-cy),  source y = cy - sin*(x-cx) + cos*(y-cy)
// If samples of a plane are not square (4:2:2 chroma), the two sines are scaled by their shape.
struct Rotate : SameSize {
  static constexpr Access access = Access::gather;

  static Filter about() {
    return {
        .name = "rotate",
        .summary = "turn about the centre, bilinear; what comes from outside is the fill value",
        .geometric = true,
        .parameters = {
            {.name = "degrees", .summary = "the angle", .unit = "degrees", .minimum = -360, .maximum = 360}}};
  }

  // Cosine and sine of an angle in degrees. Exact at multiples of 90, so that quarter turns move pixels
  // unchanged.
  static std::array<double, 2> cosine_sine(double degrees) {
    const double turns = std::nearbyint(degrees / 90);
    const double rest = (degrees - turns * 90) * std::numbers::pi / 180;
    const double c = std::cos(rest);
    const double s = std::sin(rest);
    switch (((static_cast<int>(turns) % 4) + 4) % 4) {
    case 0:
      return {c, s};
    case 1:
      return {-s, c};
    case 2:
      return {-c, -s};
    default:
      return {s, -c};
    }
  }

  // 0: cos; 1: sine times height over width of a sample; 2: cx; 3: cy; 4: sine times width over height
  static Coefficients coefficients(const PlaneGeometry& input, const ParameterValues& values) {
    const auto [c, s] = cosine_sine(values[0]);
    const double shape = sample_shape(input);
    return {static_cast<float>(c), static_cast<float>(s * shape), centre(input.size.width),
            centre(input.size.height), static_cast<float>(s / shape)};
  }

  // The corners bound a rotated rectangle.
  static Rect footprint(const Rect& output, const PlaneGeometry& /*input*/, const Coefficients& k) {
    const double c = k[0];
    const Interval x{output.x0 - double{k[2]}, output.x1 - 1 - double{k[2]}};
    const Interval y{output.y0 - double{k[3]}, output.y1 - 1 - double{k[3]}};
    const Interval sx = double{k[2]} + (c * x + double{k[1]} * y);
    const Interval sy = double{k[3]} + (-double{k[4]} * x + c * y);
    return bilinear_footprint(sx.low, sy.low, sx.high, sy.high);
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Float = typename A::Float;
    const Float dx = A::to_float(x) - a.coefficient(2);
    const Float dy = A::to_float(y) - a.coefficient(3);
    const Float sx = a.coefficient(2) + a.coefficient(0) * dx + a.coefficient(1) * dy;
    const Float sy = a.coefficient(3) - a.coefficient(4) * dx + a.coefficient(0) * dy;
    return bilinear(a, sx, sy);
  }
};

}  // namespace millrace::image::filters
