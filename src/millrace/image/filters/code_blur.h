#pragma once

#include "millrace/image/filters/convolution.h"

namespace millrace::image::filters {

// [1 2 1] x [1 2 1] / 16 on codes, to the nearest code, halves up.
template <ElementType type> struct CodeBlur : Convolution3x3 {
  static constexpr std::string_view name = type == ElementType::u8 ? "blur_8" : "blur_16";

  static Filter about() {
    return {.name = name,
            .summary = "the binomial window on codes",
            .kind = SimpleFilter{.input_type = type, .output_type = type}};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Float = typename A::Float;
    const Window<A> w(a, x, y);
    const auto row = [&](int i) -> Float {
      const Float middle = a.total(w.value[i][1]);
      return (a.total(w.value[i][0]) + a.total(w.value[i][2])) + (middle + middle);
    };
    const Float middle = row(1);
    return A::mean((row(0) + row(2)) + (middle + middle), 16);
  }
};

}  // namespace millrace::image::filters
