// Conversions that layouts put at the ends of a graph: code values to [0,1] and back, and a copy for planes
// that no filter changes.
#pragma once

#include "millrace/image/filters/defaults.h"

#include <bit>
#include <cmath>

namespace millrace::image::filters {

// Exactly code / (2^bits - 1), without the division, which would take longer than most filters. 1 / maximum
// is the sum of two floats, the first so short that its product with a code is exact.
struct Load : ValueFunction {
  // 0: the maximum; 1, 2: two numbers whose sum is 1 / the maximum
  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    const double inverse = 1 / values[0];
    const int code_bits = static_cast<int>(std::bit_width(static_cast<unsigned>(values[0])));
    const double unit = std::ldexp(1.0, std::ilogb(inverse) + 1 - (24 - code_bits));
    const double first = std::nearbyint(inverse / unit) * unit;
    return {static_cast<float>(values[0]), static_cast<float>(first), static_cast<float>(inverse - first)};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    const typename A::Float code = a.input(0, x, y);
    return code * a.coefficient(1) + code * a.coefficient(2);
  }
  static Filter about() {
    return {.name = "load",
            .summary = "code values to [0,1]",
            .parameters = {{.name = "maximum", .maximum = 65535}}};
  }
};

// floor(clamp(v) * (2^bits - 1) + 0.5)
struct Store : ValueFunction {
  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    return {static_cast<float>(values[0])};
  }
  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    return A::code(A::clamp(a.input(0, x, y), 0.0F, 1.0F) * a.coefficient(0) + 0.5F);
  }
  static Filter about() {
    return {.name = "store",
            .summary = "[0,1] to code values",
            .parameters = {{.name = "maximum", .maximum = 65535}}};
  }
};

struct Load8 : Load {
  static Filter about() {
    Filter f = Load::about();
    f.name = "load8";
    f.kind = SimpleFilter{.input_type = ElementType::u8};
    return f;
  }
};
struct Load16 : Load {
  static Filter about() {
    Filter f = Load::about();
    f.name = "load16";
    f.kind = SimpleFilter{.input_type = ElementType::u16};
    return f;
  }
};
struct Store8 : Store {
  static Filter about() {
    Filter f = Store::about();
    f.name = "store8";
    f.kind = SimpleFilter{.output_type = ElementType::u8};
    return f;
  }
};
struct Store16 : Store {
  static Filter about() {
    Filter f = Store::about();
    f.name = "store16";
    f.kind = SimpleFilter{.output_type = ElementType::u16};
    return f;
  }
};

struct Copy : ValueFunction, NoCoefficients {
  static Filter about() { return {.name = "copy", .summary = "floats as they are"}; }
  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    return a.input(0, x, y);
  }
};

}  // namespace millrace::image::filters
