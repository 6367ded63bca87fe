#pragma once

#include "millrace/image/filters/defaults.h"

#include <utility>
#include <vector>

namespace millrace::image::filters {

// The part of separable windows that works along rows: the weighted sum from left to right, edges replicated.
struct RowSum : SameSize {
  static constexpr Access access = Access::window;

  static Filter about() {
    return {.name = "row_sum",
            .summary = "a window along rows",
            .has_table = true,
            .parameters = {{.name = "half",
                            .summary = "weights of a symmetric window, from the centre outwards",
                            .type = ParameterType::list,
                            .minimum = -1000,
                            .maximum = 1000,
                            .most = 512}}};
  }

  // 0: the radius; table: the weights of the whole window
  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    std::vector<float> table(values.rbegin(), values.rend());
    table.insert(table.end(), values.begin() + 1, values.end());
    return {{static_cast<float>(values.size() - 1)}, std::move(table)};
  }

  static Rect footprint(const Rect& output, const PlaneGeometry& /*input*/, const Coefficients& k) {
    const int radius = static_cast<int>(k[0]);
    return {output.x0 - radius, output.y0, output.x1 + radius, output.y1};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Int = typename A::Int;
    const Int radius = a.integer_coefficient(0);
    return sum(a, 2 * radius + 1,
               [&](const Int& i) { return a.table(i) * a.input(0, a.replicate_x(x + i - radius), y); });
  }
};

}  // namespace millrace::image::filters
