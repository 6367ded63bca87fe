#pragma once

#include "millrace/image/filters/blend_mode.h"

namespace millrace::image::filters {

// Blend modes that multiply dark pixels and screen bright ones; one of the inputs decides which.
struct BlendContrast : Pointwise {
  static Filter about() {
    return {.name = "blend_contrast",
            .summary = "twice the product of two inputs, or of what they lack of white",
            .inputs = 2,
            .parameters = {opacity_parameter(),
                           {.name = "by",
                            .summary = "which input decides",
                            .type = ParameterType::integer,
                            .minimum = 0,
                            .maximum = 1}}};
  }

  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    return {static_cast<float>(values[0]), static_cast<float>(values[1])};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Float = typename A::Float;
    const Float v = a.input(0, x, y);
    const Float w = a.input(1, x, y);
    const Float decides = a.when(a.coefficient(1) < 0.5F, [&] { return v; }, [&] { return w; });
    const Float dark = 2.0F * (v * w);
    const Float bright = 1.0F - 2.0F * ((1.0F - v) * (1.0F - w));
    return with_opacity(a, v, Float(a.when(decides < 0.5F, [&] { return dark; }, [&] { return bright; })));
  }
};

}  // namespace millrace::image::filters
