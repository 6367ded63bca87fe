#pragma once

#include "millrace/image/filters/code_block_mean.h"
#include "millrace/image/filters/named_filters.h"

#include <optional>

namespace millrace::image::filters {

// `resize(area)` to an n-th of the size: the mean of n x n pixels.
template <int n> struct BlockMean : Blocks<n> {
  static constexpr std::string_view name = n == 2 ? "block_mean_2" : n == 3 ? "block_mean_3" : "block_mean_4";

  static Filter about() {
    return {.name = name,
            .summary = "the mean of a square of pixels, for each a pixel",
            .geometric = true,
            .parameters = Blocks<n>::parameters()};
  }

  static std::optional<CodeFilter> codes(const Coefficients& /*k*/, int maximum) {
    return CodeFilter{.filter = find_simple_filter(maximum > 255 ? CodeBlockMean<n, ElementType::u16>::name
                                                                 : CodeBlockMean<n, ElementType::u8>::name)};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    return Blocks<n>::template sum<A>([&](int dx, int dy) { return a.input(0, x * n + dx, y * n + dy); }) *
           (1.0F / (n * n));
  }
};

}  // namespace millrace::image::filters
