#pragma once

#include "millrace/image/filters/moved_input.h"

namespace millrace::image::filters {

// The part of `overlay` that moves: a plane of the given size with the input at a place that may be outside.
// Pixels elsewhere are undefined and must not be used. It is declared a gather, so that earlier stages are
// computed once per input pixel and not once per output pixel.
struct Place : MovedInput {
  static constexpr Access access = Access::gather;

  static Filter about() {
    const auto length = [](std::string_view name, double minimum) {
      return Parameter{.name = name, .type = ParameterType::integer, .minimum = minimum, .maximum = 32768};
    };
    return {.name = "place",
            .summary = "a picture at a place of a larger or smaller one",
            .geometric = true,
            .parameters = {length("x", -32768), length("y", -32768), length("width", 1), length("height", 1),
                           length("luma_width", 1), length("luma_height", 1)}};
  }

  static Result<PlaneGeometry> output(const PlaneGeometry& input, const ParameterValues& values) {
    PlaneGeometry result = input;
    result.size = {static_cast<int>(values[2]), static_cast<int>(values[3])};
    result.luma = {static_cast<int>(values[4]), static_cast<int>(values[5])};
    return result;
  }

  // 0, 1: origin of the input, in pixels of this plane
  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    return {static_cast<float>(values[0]), static_cast<float>(values[1])};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Int = typename A::Int;
    const Int from_x = x - a.integer_coefficient(0);
    const Int from_y = y - a.integer_coefficient(1);
    return a.when(
        a.interior(), [&] { return a.input(0, a.promise_x(0, from_x), a.promise_y(0, from_y)); },
        [&] { return a.input(0, a.clamp_x(0, from_x), a.clamp_y(0, from_y)); });
  }
};

}  // namespace millrace::image::filters
