#pragma once

#include "millrace/image/filters/defaults.h"

#include <cmath>
#include <numeric>
#include <vector>

namespace millrace::image::filters {

// The weighted sum of a square of pixels, weights row by row as one sees them (not mirrored), divided by
// their sum unless that is 0.
struct Convolve {
  static constexpr Access access = Access::window;
  static constexpr int largest_side = 31;

  static Filter about() {
    return {.name = "convolve",
            .summary = "weigh a square of pixels, and divide by the sum of the weights unless that is 0",
            .chroma = ChromaDefault::passes,
            .has_table = true,
            .parameters = {{.name = "kernel",
                            .summary = "n x n weights row by row, n odd",
                            .type = ParameterType::list,
                            .minimum = -1e6,
                            .maximum = 1e6,
                            .most = std::size_t{largest_side} * largest_side}}};
  }

  // 0 where the weights are not those of a square with a centre.
  static int side(const ParameterValues& values) {
    const int side = static_cast<int>(std::lround(std::sqrt(static_cast<double>(values.size()))));
    return side % 2 == 1 && static_cast<std::size_t>(side) * side == values.size() ? side : 0;
  }

  static Result<PlaneGeometry> output(const PlaneGeometry& input, const ParameterValues& values) {
    if (side(values) > 0) return input;
    return usage_error("convolve: {} weights make no square with a pixel in its centre; give 9, 25, 49, ...",
                       values.size());
  }

  // 0: the radius, 1: 1 / the side; table: the weights
  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    std::vector<float> table;
    table.reserve(values.size());
    for (const double weight : values)
      table.push_back(static_cast<float>(sum == 0 ? weight : weight / sum));
    const int length = side(values);
    return {{static_cast<float>(length / 2), 1.0F / static_cast<float>(length)}, std::move(table)};
  }

  static Rect footprint(const Rect& output, const PlaneGeometry& /*input*/, const Coefficients& k) {
    return grown(output, static_cast<int>(k[0]));
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Int = typename A::Int;
    const Int radius = a.integer_coefficient(0);
    const Int side = 2 * radius + 1;
    return sum(a, side * side, [&](const Int& i) {
      // i / side, without the slow division: half a pixel from the next whole number.
      const Int row = A::floor_int((A::to_float(i) + 0.5F) * a.coefficient(1));
      const Int column = i - row * side;
      return a.table(i) * a.input(0, a.promise_x(0, a.replicate_x(x + column - radius)),
                                  a.promise_y(0, a.replicate_y(y + row - radius)));
    });
  }
};

}  // namespace millrace::image::filters
