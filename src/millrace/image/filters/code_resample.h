#pragma once

#include "millrace/image/filters/code_resampling.h"
#include "millrace/image/filters/resample_x.h"
#include "millrace/image/filters/resample_y.h"

#include <type_traits>
#include <variant>

namespace millrace::image::filters {

// One of the two parts of a resize: the first one reads codes, the last one makes codes.
template <class Numbers, bool first> struct CodeResample : Numbers {
  static constexpr bool is_x = std::is_same_v<Numbers, ResampleX>;
  static constexpr std::string_view name = is_x ? first ? ResampleX::first_on_codes : ResampleX::last_on_codes
                                           : first ? ResampleY::first_on_codes
                                                   : ResampleY::last_on_codes;

  static Filter about() {
    Filter filter = Numbers::about();
    filter.name = name;
    auto& simple = std::get<SimpleFilter>(filter.kind);
    simple.input_type = first ? ElementType::u8 : ElementType::u16;
    simple.output_type = first ? ElementType::u16 : ElementType::u8;
    return filter;
  }

  static Coefficients coefficients(const PlaneGeometry& input, const ParameterValues& values) {
    const Coefficients k = Numbers::coefficients(input, values);
    return CodeResampling::coefficients(k).value_or(k);
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Int = typename A::Int;
    if constexpr (is_x)
      return CodeResampling::pixel(a, x, first,
                                   [&](const Int& tap) { return a.input(0, a.promise_x(0, tap), y); });
    else
      return CodeResampling::pixel(a, y, first,
                                   [&](const Int& tap) { return a.input(0, x, a.promise_y(0, tap)); });
  }
};

}  // namespace millrace::image::filters
