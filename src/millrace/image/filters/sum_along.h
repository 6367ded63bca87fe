#pragma once

#include "millrace/image/filters/along.h"

#include <string_view>
#include <utility>
#include <vector>

namespace millrace::image::filters {

// A part of separable windows: the weighted sum from left to right or from top to bottom, edges replicated.
template <Axis axis> struct SumAlong : Along<axis> {
  static Filter named(std::string_view name, std::string_view summary) {
    return {.name = name,
            .summary = summary,
            .kind = SimpleFilter{.has_table = true},
            .parameters = {{.name = "half",
                            .summary = "weights of a symmetric window, from the centre outwards",
                            .type = ParameterType::list,
                            .minimum = -1000,
                            .maximum = 1000,
                            .most = 512}}};
  }

  // 0: radius; table: the weights of the whole window
  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    std::vector<float> table(values.rbegin(), values.rend());
    table.insert(table.end(), values.begin() + 1, values.end());
    return {{static_cast<float>(values.size() - 1)}, std::move(table)};
  }

  static Rect footprint(const Rect& output, const PlaneGeometry& /*input*/, const Coefficients& k) {
    return Along<axis>::reach(output, static_cast<int>(k[0]));
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Int = typename A::Int;
    const Int radius = a.integer_coefficient(0);
    return sum(a, 2 * radius + 1,
               [&](const Int& i) { return a.table(i) * Along<axis>::behind(a, x, y, i - radius); });
  }
};

}  // namespace millrace::image::filters
