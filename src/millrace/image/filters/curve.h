#pragma once

#include "millrace/image/filters/lookup.h"
#include "millrace/image/filters/natural_spline.h"

#include <algorithm>

namespace millrace::image::filters {

// The natural cubic spline through given points, clamped to [0,1].
struct Curve : ValueFunction {
  static Filter about() {
    return {.name = "curve",
            .summary = "tones by the smooth curve (natural cubic spline) through points",
            .chroma = ChromaDefault::passes,
            .kind = SimpleFilter{.has_table = true},
            .parameters = {{.name = "points",
                            .summary = "x1, y1, x2, y2, ...: from which value to which, x growing",
                            .type = ParameterType::list,
                            .minimum = 0,
                            .maximum = 1,
                            .least = 4,
                            .most = 512}}};
  }

  static std::vector<CurvePoint> points(const ParameterValues& values) {
    std::vector<CurvePoint> points;
    for (std::size_t i = 0; i + 1 < values.size(); i += 2)
      points.push_back({values[i], values[i + 1]});
    return points;
  }

  static Result<PlaneGeometry> output(const PlaneGeometry& input, const ParameterValues& values) {
    if (values.size() % 2 != 0)
      return usage_error("curve: {} numbers make no points; give two for each, x and y", values.size());
    const std::vector<CurvePoint> given = points(values);
    const auto wrong = std::ranges::adjacent_find(
        given, [](const CurvePoint& a, const CurvePoint& b) { return a.x >= b.x; });
    if (wrong == given.end()) return input;
    return usage_error("curve: the x of its points must grow, but {} follows {}", std::next(wrong)->x,
                       wrong->x);
  }

  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    const NaturalSpline spline(points(values));
    return {{}, tabulated([&](double v) { return std::clamp(spline(v), 0.0, 1.0); })};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    return looked_up(a, a.input(0, x, y));
  }
};

}  // namespace millrace::image::filters
