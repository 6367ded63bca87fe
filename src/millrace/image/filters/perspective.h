#pragma once

#include "millrace/image/filters/bilinear.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace millrace::image::filters {

// Stretches a quadrilateral of the source to the whole frame. Uses the homography that maps the corners of
// the result, (0,0), (W,0), (0,H) and (W,H), to the given corners, with bilinear interpolation.
struct Perspective : SameSize {
  static constexpr Access access = Access::gather;
  // Maps x, y of the result to x, y of the source, by rows; the last row gives the divisor.
  using Matrix = std::array<std::array<double, 3>, 3>;

  static Filter about() {
    return {
        .name = "perspective",
        .summary = "fill the frame with what lies between four corners, bilinear",
        .geometric = true,
        .parameters = {{.name = "corners",
                        .summary = "x and y of the upper left, upper right, lower left and lower right one",
                        .unit = "pixels",
                        .type = ParameterType::list,
                        .minimum = -65536,
                        .maximum = 65536,
                        .least = 8,
                        .most = 8}}};
  }

  // Maps the unit square to the corners: Heckbert, "Fundamentals of texture mapping and image warping", 1989.
  static Matrix of_unit_square(const ParameterValues& c) {
    const auto [x0, y0, x1, y1, x2, y2, x3, y3] = std::array{c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]};
    const double dx1 = x1 - x3;
    const double dx2 = x2 - x3;
    const double dy1 = y1 - y3;
    const double dy2 = y2 - y3;
    const double sx = x0 - x1 + x3 - x2;
    const double sy = y0 - y1 + y3 - y2;
    const double area = dx1 * dy2 - dx2 * dy1;
    const double g = (sx * dy2 - dx2 * sy) / area;
    const double h = (dx1 * sy - sx * dy1) / area;
    return {{{x1 - x0 + g * x1, x2 - x0 + h * x2, x0}, {y1 - y0 + g * y1, y2 - y0 + h * y2, y0}, {g, h, 1}}};
  }

  // Whether the corners form a convex quadrilateral with an area.
  static bool is_convex(const ParameterValues& c) {
    constexpr std::array<std::size_t, 4> around{0, 1, 3, 2};
    int turns = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const auto at = [&](std::size_t corner) {
        return std::pair(c[2 * around[corner % 4]], c[2 * around[corner % 4] + 1]);
      };
      const auto [ax, ay] = at(i);
      const auto [bx, by] = at(i + 1);
      const auto [cx, cy] = at(i + 2);
      const double turn = (bx - ax) * (cy - by) - (by - ay) * (cx - bx);
      turns += turn > 1e-3 ? 1 : turn < -1e-3 ? -1 : 0;
    }
    return turns == 4 || turns == -4;
  }

  static Result<PlaneGeometry> output(const PlaneGeometry& input, const ParameterValues& values) {
    if (!is_convex(values))
      return usage_error(
          "perspective: these are not the corners of a convex quadrilateral, in the order upper left, "
          "upper right, lower left, lower right");
    const Coefficients k = coefficients(input, values);
    const float across =
        std::abs(k[6]) * centre(input.size.width) + std::abs(k[7]) * centre(input.size.height);
    // Otherwise floats would not be precise to a pixel.
    if (across < 63.0F / 64) return input;
    return usage_error(
        "perspective: so steep that one edge would grow 128 times as large as the other; take corners "
        "further apart");
  }

  // The matrix in samples of this plane, relative to the centre of the frame. The divisor is nonzero there,
  // so the last element can be normalized to 1.
  static Coefficients coefficients(const PlaneGeometry& input, const ParameterValues& values) {
    Matrix m = of_unit_square(values);
    for (auto& row : m)
      row = {row[0] / input.luma.width, row[1] / input.luma.height, row[2]};
    // Luma is at step * sample + (step - 1) / 2, with chroma evenly spread: all planes have the same centre.
    const double cx = centre(input.size.width);
    const double cy = centre(input.size.height);
    const double luma_cx = centre(input.luma.width);
    const double luma_cy = centre(input.luma.height);
    for (auto& row : m)
      row = {row[0] * input.step_x, row[1] * input.step_y, row[0] * luma_cx + row[1] * luma_cy + row[2]};
    for (std::size_t i = 0; i < 3; ++i) {
      m[0][i] = (m[0][i] - luma_cx * m[2][i]) / input.step_x + cx * m[2][i];
      m[1][i] = (m[1][i] - luma_cy * m[2][i]) / input.step_y + cy * m[2][i];
    }
    const auto number = [&](std::size_t row, std::size_t i) {
      return static_cast<float>(m[row][i] / m[2][2]);
    };
    return {number(0, 0), number(0, 1), number(0, 2), number(1, 0),
            number(1, 1), number(1, 2), number(2, 0), number(2, 1)};
  }

  // The map preserves straight lines, so the images of a rectangle's corners bound its image.
  static Rect footprint(const Rect& output, const PlaneGeometry& input, const Coefficients& k) {
    double left = 1e9;
    double top = 1e9;
    double right = -1e9;
    double bottom = -1e9;
    double least = 1e9;  // divisor
    for (const int x : {output.x0, output.x1 - 1}) {
      for (const int y : {output.y0, output.y1 - 1}) {
        const double dx = x - double{centre(input.size.width)};
        const double dy = y - double{centre(input.size.height)};
        const double divisor = 1 + double{k[6]} * dx + double{k[7]} * dy;
        least = std::min(least, divisor);
        const double sx = (double{k[2]} + double{k[0]} * dx + double{k[1]} * dy) / divisor;
        const double sy = (double{k[5]} + double{k[3]} * dx + double{k[4]} * dy) / divisor;
        left = std::min(left, sx);
        right = std::max(right, sx);
        top = std::min(top, sy);
        bottom = std::max(bottom, sy);
      }
    }
    // Float rounding errors.
    const double rounding = std::ldexp(input.size.width + input.size.height, -20) / least;
    return bilinear_footprint(left - rounding, top - rounding, right + rounding, bottom + rounding);
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Float = typename A::Float;
    const Float dx = A::to_float(x) - A::to_float(a.width() - 1) * 0.5F;
    const Float dy = A::to_float(y) - A::to_float(a.height() - 1) * 0.5F;
    const Float divisor = 1.0F + a.coefficient(6) * dx + a.coefficient(7) * dy;
    return bilinear(a, (a.coefficient(2) + a.coefficient(0) * dx + a.coefficient(1) * dy) / divisor,
                    (a.coefficient(5) + a.coefficient(3) * dx + a.coefficient(4) * dy) / divisor);
  }
};

}  // namespace millrace::image::filters
