#pragma once

#include "millrace/image/filters/defaults.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace millrace::image::filters {

// Edge-preserving smoothing: the mean of the pixels in a disc, weighted by distance and by similarity to the
// centre. Lengths are in luma samples.
struct Bilateral : SameSize {
  static constexpr Access access = Access::window;
  // e^-t is (e^-u)^16 with u = t / 16, and e^-u is nearly 1 - u + u^2/2 - u^3/6. This needs only operations
  // that IEEE 754 specifies, and is faster than a table in which every pixel looks up another place. The
  // error is within 1e-4. u is clamped to 1, beyond which the weight is negligible.
  static constexpr int squarings = 4;

  static Filter about() {
    return {.name = "bilateral",
            .summary = "smooth without blurring edges: what is near and alike counts",
            .kind = SimpleFilter{.has_table = true},
            .parameters = {{.name = "sigma_space",
                            .summary = "standard deviation of the weight by distance",
                            .unit = "pixels",
                            .minimum = 0.5,
                            .maximum = 16},
                           {.name = "sigma_range",
                            .summary = "standard deviation of the weight by difference",
                            .minimum = 0.001,
                            .maximum = 10}}};
  }

  static int radius(double sigma) { return std::max(1, static_cast<int>(std::lround(1.5 * sigma))); }

  // 0, 1: radius of the window; 2: number of pixels in it; 3: factor from a squared difference to u. table:
  // their weights by distance, row by row, then their x offsets, then their y offsets
  static Coefficients coefficients(const PlaneGeometry& input, const ParameterValues& values) {
    const int reach = radius(values[0]);
    const int rx = std::max(1, reach / input.step_x);
    const int ry = std::max(1, reach / input.step_y);
    std::vector<float> weights;
    std::vector<float> columns;
    std::vector<float> rows;
    for (int dy = -ry; dy <= ry; ++dy) {
      for (int dx = -rx; dx <= rx; ++dx) {
        const double x = dx * input.step_x;
        const double y = dy * input.step_y;
        const double square = x * x + y * y;
        const double farthest = std::max({double(reach), double(input.step_x), double(input.step_y)});
        if (square > farthest * farthest) continue;
        weights.push_back(static_cast<float>(std::exp(-0.5 * square / (values[0] * values[0]))));
        columns.push_back(static_cast<float>(dx));
        rows.push_back(static_cast<float>(dy));
      }
    }
    const auto count = static_cast<float>(weights.size());
    weights.insert(weights.end(), columns.begin(), columns.end());
    weights.insert(weights.end(), rows.begin(), rows.end());
    return {{static_cast<float>(rx), static_cast<float>(ry), count,
             static_cast<float>(1 / (2 * values[1] * values[1] * (1 << squarings)))},
            std::move(weights)};
  }

  static Rect footprint(const Rect& output, const PlaneGeometry& /*input*/, const Coefficients& k) {
    const int rx = static_cast<int>(k[0]);
    const int ry = static_cast<int>(k[1]);
    return {output.x0 - rx, output.y0 - ry, output.x1 + rx, output.y1 + ry};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Float = typename A::Float;
    using Int = typename A::Int;
    const Int count = a.integer_coefficient(2);
    const Float centre = a.input(0, x, y);
    const auto add = [&](const Sums<Float>& so_far, const Int& i) -> Sums<Float> {
      const Int column = x + a.integer_table(count + i);
      const Int row = y + a.integer_table(2 * count + i);
      const Float value =
          a.input(0, a.promise_x(0, a.replicate_x(column)), a.promise_y(0, a.replicate_y(row)));
      const Float apart = value - centre;
      const Float u = A::lesser(apart * apart * a.coefficient(3), 1.0F);
      Float alike = 1.0F - u * (1.0F - u * (0.5F - u * (1.0F / 6)));
      for (int times = 0; times < squarings; ++times)
        alike = alike * alike;
      const Float weight = a.table(i) * alike;
      return {so_far.first + weight * value, so_far.second + weight};
    };
    const Sums<Float> sums = a.fold_two(count, Sums<Float>{Float(0.0F), Float(0.0F)}, add);
    return sums.first / sums.second;
  }
};

}  // namespace millrace::image::filters
