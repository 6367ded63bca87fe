#pragma once

#include "millrace/image/filters/defaults.h"
#include "millrace/image/filters/divisor.h"
#include "millrace/image/filters/named_filters.h"

#include <cmath>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace millrace::image::filters {

// `convolve` on 8-bit codes, for integer weights that are small enough. To the nearest code, halves up.
struct CodeConvolve : SameSize {
  static constexpr Access access = Access::window;
  static constexpr std::string_view name = "convolve_8";
  static constexpr int most_weight =
      128;  // of all weights together: the sum of as much as 128 codes fits a signed 16-bit integer

  static Filter about() {
    return {
        .name = name,
        .summary = "the weighted sum of a square of codes",
        .kind =
            SimpleFilter{.has_table = true, .input_type = ElementType::u8, .output_type = ElementType::u8},
        .parameters = {{.name = "kernel",
                        .summary = "two whole numbers, of which a pixel and the one to its right are weighed",
                        .type = ParameterType::list,
                        .minimum = 0,
                        .maximum = most_weight / 2,
                        .least = 2,
                        .most = 2}}};
  }

  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    const auto a = static_cast<float>(values[0]);
    const auto b = static_cast<float>(values[1]);
    return numbers(1, {a, b, 0, 1, 0, 0}, 2, static_cast<int>(a + b)).value_or(Coefficients({1, 0}, {0}));
  }

  // 0: radius; 1: number of weights; 2: largest sum; 3 to 5: divisor, with its Divisor; 6: 0. table: as for
  // `convolve`
  static std::optional<Coefficients> numbers(float radius, std::vector<float> table, int count, int sum) {
    if (sum < Divisor::least || sum > most_weight) return {};
    const Divisor by(sum);
    return Coefficients({radius, static_cast<float>(count), 255.0F * static_cast<float>(sum),
                         static_cast<float>(sum), static_cast<float>(by.factor),
                         static_cast<float>(by.shift)},
                        std::move(table));
  }

  // Takes the coefficients of `convolve`.
  static std::optional<CodeFilter> of(const Coefficients& k, int maximum) {
    if (maximum != 255) return {};
    const auto count = static_cast<std::size_t>(k[1]);
    std::vector<float> table(k.table().begin(), k.table().end());
    double divided_by = k[2];
    if (std::abs(divided_by) == 1) divided_by *= 2;  // Divisor needs at least 2
    double size = 0;
    for (float& weight : std::span(table).first(count)) {
      const double exact = double{weight} * k[2];
      const double whole = std::nearbyint(exact);
      if (std::abs(exact - whole) > 2e-7 * std::abs(whole)) return {};
      const double now = double{weight} * divided_by;
      weight = static_cast<float>(std::nearbyint(divided_by < 0 ? -now : now));
      size += std::abs(double{weight});
    }
    divided_by = std::abs(divided_by);
    if (size > most_weight || divided_by > most_weight || std::nearbyint(divided_by) != divided_by) return {};
    auto found = numbers(k[0], std::move(table), static_cast<int>(count), static_cast<int>(divided_by));
    if (!found) return {};
    return CodeFilter{.filter = find_simple_filter(name), .coefficients = std::move(*found)};
  }

  static Rect footprint(const Rect& output, const PlaneGeometry& /*input*/, const Coefficients& k) {
    return grown(output, static_cast<int>(k[0]));
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Float = typename A::Float;
    using Int = typename A::Int;
    const Int count = a.integer_coefficient(1);
    const Float sum = a.fold(count, a.whole(6), [&](const Float& so_far, const Int& i) -> Float {
      const Int column = x + a.integer_table(count + i);
      const Int row = y + a.integer_table(2 * count + i);
      return so_far + a.whole_table(i) * a.wide(a.input(0, a.promise_x(0, a.replicate_x(column)),
                                                        a.promise_y(0, a.replicate_y(row))));
    });
    return a.mean_by(A::greater(A::lesser(sum, a.whole(2)), a.whole(6)), 3);
  }
};

}  // namespace millrace::image::filters
