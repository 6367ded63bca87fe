#pragma once

#include "millrace/image/filters/code_convolve.h"
#include "millrace/image/filters/defaults.h"

#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

namespace millrace::image::filters {

// The weighted sum of a square of pixels. Weights are given row by row and are not mirrored. The sum is
// divided by the sum of the weights unless that is 0.
struct Convolve {
  static constexpr Access access = Access::window;
  static constexpr int largest_side = 31;

  static Filter about() {
    return {.name = "convolve",
            .summary = "weigh a square of pixels, and divide by the sum of the weights unless that is 0",
            .chroma = ChromaDefault::passes,
            .kind = SimpleFilter{.has_table = true},
            .parameters = {{.name = "kernel",
                            .summary = "n x n weights row by row, n odd",
                            .type = ParameterType::list,
                            .minimum = -1e6,
                            .maximum = 1e6,
                            .most = std::size_t{largest_side} * largest_side}}};
  }

  // 0 if the number of weights is not the square of an odd number.
  static int side(const ParameterValues& values) {
    const int side = static_cast<int>(std::lround(std::sqrt(static_cast<double>(values.size()))));
    return side % 2 == 1 && static_cast<std::size_t>(side) * side == values.size() ? side : 0;
  }

  static Result<PlaneGeometry> output(const PlaneGeometry& input, const ParameterValues& values) {
    if (side(values) > 0) return input;
    return usage_error("convolve: {} weights make no square with a pixel in its centre; give 9, 25, 49, ...",
                       values.size());
  }

  // 0: radius; 1: number of nonzero weights; 2: their divisor. table: these weights, then their x offsets,
  // then their y offsets
  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    const int length = side(values);
    std::vector<float> table;
    std::vector<float> columns;
    std::vector<float> rows;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] == 0) continue;
      table.push_back(static_cast<float>(sum == 0 ? values[i] : values[i] / sum));
      columns.push_back(static_cast<float>(static_cast<int>(i) % length - length / 2));
      rows.push_back(static_cast<float>(static_cast<int>(i) / length - length / 2));
    }
    const auto count = static_cast<float>(table.size());
    table.insert(table.end(), columns.begin(), columns.end());
    table.insert(table.end(), rows.begin(), rows.end());
    if (table.empty()) table.push_back(0);  // a table must not be empty
    return {{static_cast<float>(length / 2), count, sum == 0 ? 1.0F : static_cast<float>(sum)},
            std::move(table)};
  }

  static Rect footprint(const Rect& output, const PlaneGeometry& /*input*/, const Coefficients& k) {
    return grown(output, static_cast<int>(k[0]));
  }

  static std::optional<CodeFilter> codes(const Coefficients& k, int maximum) {
    return CodeConvolve::of(k, maximum);
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Int = typename A::Int;
    const Int count = a.integer_coefficient(1);
    return sum(a, count, [&](const Int& i) {
      const Int column = x + a.integer_table(count + i);
      const Int row = y + a.integer_table(2 * count + i);
      return a.table(i) *
             a.input(0, a.promise_x(0, a.replicate_x(column)), a.promise_y(0, a.replicate_y(row)));
    });
  }
};

}  // namespace millrace::image::filters
