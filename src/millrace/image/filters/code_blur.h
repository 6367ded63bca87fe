#pragma once

#include "millrace/image/filters/convolution.h"

namespace millrace::image::filters {

// [1 2 1] x [1 2 1] / 16 of codes, the nearest code, halves upwards.
template <ElementType type> struct CodeBlur : Convolution3x3 {
  static constexpr std::string_view name = type == ElementType::u8 ? "blur_8" : "blur_16";

  static Filter about() {
    return {.name = name, .summary = "the binomial window on codes", .input_type = type, .output_type = type};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Float = typename A::Float;
    const Window<A> w(a, x, y);
    const auto column = [&](int i) -> Float {
      const Float middle = a.total(w.value[1][i]);
      return (a.total(w.value[0][i]) + a.total(w.value[2][i])) + (middle + middle);
    };
    const Float middle = column(1);
    return A::mean((column(0) + column(2)) + (middle + middle), 16);
  }
};

}  // namespace millrace::image::filters
