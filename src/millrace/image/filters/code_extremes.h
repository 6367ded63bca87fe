#pragma once

#include "millrace/image/filters/defaults.h"
#include "millrace/image/filters/named_filters.h"

#include <optional>

namespace millrace::image::filters {

// p times the greater of two codes plus q times the lesser one, if that is a code.
template <ElementType type> struct CodeExtremes : ValueFunction {
  static constexpr std::string_view name = type == ElementType::u8 ? "code_extremes_8" : "code_extremes_16";

  static Filter about() {
    return {.name = name,
            .summary = "the greater of two codes, the lesser one, or how far they are apart",
            .inputs = 2,
            .kind = SimpleFilter{.input_type = type, .output_type = type},
            .parameters = {{.name = "p", .type = ParameterType::integer, .minimum = 0, .maximum = 1},
                           {.name = "q", .type = ParameterType::integer, .minimum = -1, .maximum = 1}}};
  }

  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    return {static_cast<float>(values[0]), static_cast<float>(values[1])};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Float = typename A::Float;
    const Float v = a.input(0, x, y);
    const Float w = a.input(1, x, y);
    return a.wide(A::greater(v, w)) * a.whole(0) + a.wide(A::lesser(v, w)) * a.whole(1);
  }
};

// The code version of such a filter on floats; nothing for other factors.
inline std::optional<CodeFilter> extremes_of_codes(float p, float q, int maximum) {
  const bool known = (p == 1.0F && (q == 0.0F || q == -1.0F)) || (p == 0.0F && q == 1.0F);
  if (!known) return {};
  return CodeFilter{.filter = find_simple_filter(maximum > 255 ? CodeExtremes<ElementType::u16>::name
                                                               : CodeExtremes<ElementType::u8>::name),
                    .coefficients = {p, q}};
}

}  // namespace millrace::image::filters
