#pragma once

#include "millrace/image/filters/resampling.h"

#include <vector>

namespace millrace::image::filters {

// Divides a plane into squares of n x n pixels and makes one pixel of each. The size must be a multiple of n.
template <int n> struct Blocks : NoCoefficients {
  static constexpr Access access = Access::window;

  // Sizes of the result and of its luma.
  static std::vector<Parameter> parameters() {
    const auto length = [](std::string_view name) {
      return Parameter{.name = name, .type = ParameterType::integer, .minimum = 1, .maximum = 32768};
    };
    return {length("width"), length("height"), length("luma_width"), length("luma_height")};
  }

  static Result<PlaneGeometry> output(const PlaneGeometry& input, const ParameterValues& values) {
    PlaneGeometry result = input;
    result.size = {static_cast<int>(values[0]), static_cast<int>(values[1])};
    result.luma = {static_cast<int>(values[2]), static_cast<int>(values[3])};
    reshape(result.aspect_numerator, result.aspect_denominator, input.luma.width, result.luma.width);
    reshape(result.aspect_denominator, result.aspect_numerator, input.luma.height, result.luma.height);
    return result;
  }

  static Rect footprint(const Rect& output, const PlaneGeometry& /*input*/, const Coefficients& /*c*/) {
    return {n * output.x0, n * output.y0, n * output.x1, n * output.y1};
  }

  // Sums the pixels at (dx, dy) of a square, columns first.
  template <class A, class Pixel> static typename A::Float sum(Pixel&& pixel) {
    const auto column = [&](int dx) -> typename A::Float {
      typename A::Float so_far = pixel(dx, 0);
      for (int dy = 1; dy < n; ++dy)
        so_far = so_far + pixel(dx, dy);
      return so_far;
    };
    typename A::Float total = column(0);
    for (int dx = 1; dx < n; ++dx)
      total = total + column(dx);
    return total;
  }
};

// The mean of n x n codes, to the nearest code, halves up.
template <int n, ElementType type> struct CodeBlockMean : Blocks<n> {
  static constexpr bool small = type == ElementType::u8;
  static constexpr std::string_view name = n == 2   ? small ? "block_mean_2_8" : "block_mean_2_16"
                                           : n == 3 ? small ? "block_mean_3_8" : "block_mean_3_16"
                                           : small  ? "block_mean_4_8"
                                                    : "block_mean_4_16";

  static Filter about() {
    return {.name = name,
            .summary = "the mean of a square of codes",
            .geometric = true,
            .kind = SimpleFilter{.input_type = type, .output_type = type},
            .parameters = Blocks<n>::parameters()};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    return A::mean(Blocks<n>::template sum<A>(
                       [&](int dx, int dy) { return a.total(a.input(0, x * n + dx, y * n + dy)); }),
                   n * n);
  }
};

}  // namespace millrace::image::filters
