// The parts of `box` on 8-bit codes, with 16-bit sums. The mean of an odd number of pixels is never halfway
// between two codes, so the nearest code is unique.
#pragma once

#include "millrace/image/filters/along.h"
#include "millrace/image/filters/divisor.h"

#include <vector>

namespace millrace::image::filters {

inline std::vector<Parameter> box_parameters() {
  return {{.name = "radius", .type = ParameterType::integer, .minimum = 0, .maximum = 100},
          {.name = "count", .type = ParameterType::integer, .minimum = 1, .maximum = 40401}};
}

// Whether these can replace a part of a box with the given coefficients.
inline bool box_of_codes(const Coefficients& k, int maximum) {
  return maximum == 255 && k[1] >= Divisor::least && k[1] <= Divisor::most;
}

struct CodeBoxRows : Along<Axis::rows> {
  static Filter about() {
    return {.name = "box_rows_8",
            .summary = "sums of codes along rows",
            .kind = SimpleFilter{.input_type = ElementType::u8, .output_type = ElementType::u16},
            .parameters = {{.name = "radius", .type = ParameterType::integer, .minimum = 0, .maximum = 92}}};
  }

  // 0: radius
  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    return {static_cast<float>(values[0])};
  }

  static Rect footprint(const Rect& output, const PlaneGeometry& /*input*/, const Coefficients& k) {
    return reach(output, static_cast<int>(k[0]));
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Float = typename A::Float;
    using Int = typename A::Int;
    const Int radius = a.integer_coefficient(0);
    const auto term = [&](const Int& i) -> Float { return a.total(behind(a, x, y, i - radius)); };
    return a.fold(2 * radius, term(0),
                  [&](const Float& so_far, const Int& i) -> Float { return so_far + term(i + 1); });
  }
};

struct CodeBoxColumns : Along<Axis::columns> {
  static Filter about() {
    return {.name = "box_columns_8",
            .summary = "codes of sums, along columns",
            .kind = SimpleFilter{.input_type = ElementType::u16, .output_type = ElementType::u8},
            .parameters = {{.name = "radius", .type = ParameterType::integer, .minimum = 0, .maximum = 92},
                           {.name = "count",
                            .type = ParameterType::integer,
                            .minimum = Divisor::least,
                            .maximum = Divisor::most}}};
  }

  // 0: radius; 1: number of pixels; 2, 3: its Divisor
  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    const Divisor by(static_cast<int>(values[1]));
    return {static_cast<float>(values[0]), static_cast<float>(values[1]), static_cast<float>(by.factor),
            static_cast<float>(by.shift)};
  }

  static Rect footprint(const Rect& output, const PlaneGeometry& /*input*/, const Coefficients& k) {
    return reach(output, static_cast<int>(k[0]));
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Float = typename A::Float;
    using Int = typename A::Int;
    const Int radius = a.integer_coefficient(0);
    const auto term = [&](const Int& i) -> Float { return behind(a, x, y, i - radius); };
    const Float total = a.fold(2 * radius, term(0), [&](const Float& so_far, const Int& i) -> Float {
      return so_far + term(i + 1);
    });
    return a.mean_by(total, 1);
  }
};

}  // namespace millrace::image::filters
