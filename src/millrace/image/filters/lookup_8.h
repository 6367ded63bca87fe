#pragma once

#include "millrace/image/filters/defaults.h"

#include <numeric>
#include <utility>
#include <vector>

namespace millrace::image::filters {

// Replaces a chain of point filters at 8 bits by one table with an output code for each input code. Pipelines
// cannot name it; grouping substitutes it for a chain.
struct Lookup8 : ValueFunction {
  static Filter about() {
    return {.name = "lookup_8",
            .summary = "another code for each code",
            .kind = SimpleFilter{
                .has_table = true, .input_type = ElementType::u8, .output_type = ElementType::u8}};
  }

  // The default table is the identity.
  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& /*values*/) {
    std::vector<float> table(256);
    std::iota(table.begin(), table.end(), 0.0F);
    return {{}, std::move(table)};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    return a.table(A::floor_int(a.input(0, x, y)));
  }
};

}  // namespace millrace::image::filters
