// How the two parts of `resize` work on 8-bit codes. Weights are multiples of 1/16384, the values between the
// parts are kept to 1/64 of a code, and the result is rounded to the nearest code.
#pragma once

#include "millrace/image/filters/named_filters.h"
#include "millrace/image/filters/resampling.h"

#include <cmath>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace millrace::image::filters {

struct CodeResampling {
  static constexpr int one = 1 << 14;  // sum of the weights of a sample
  // Format of the values between the parts, 15 bits: middle_zero + 64 * code. They may be outside the range
  // of codes.
  static constexpr int middle_shift = 8;
  static constexpr int middle_zero = 1 << 13;
  // Added before the shift: rounds to nearest and adds middle_zero.
  static constexpr int first_constant = (1 << (middle_shift - 1)) + (middle_zero << middle_shift);
  static constexpr int last_shift = 20;
  static constexpr int last_constant = (1 << (last_shift - 1)) - middle_zero * one;

  // The same taps with integer weights. Returns nothing if sums could overflow. The heaviest tap of each
  // sample absorbs the rounding errors of the others.
  static std::optional<Coefficients> coefficients(const Coefficients& k) {
    const auto taps = static_cast<std::size_t>(k[0]);
    const auto samples = static_cast<std::size_t>(k[4]);
    std::vector<float> table(k.table().begin(), k.table().end());
    for (std::size_t x = 0; x < samples; ++x) {
      float left = one;
      float size = 0;
      std::size_t heaviest = x;
      for (std::size_t i = x; i < taps * samples; i += samples) {
        table[i] = std::nearbyint(table[i] * one);
        left -= table[i];
        size += std::abs(table[i]);
        if (table[i] > table[heaviest]) heaviest = i;
      }
      table[heaviest] += left;
      // 15 bits reach 384 codes up and 128 down.
      if (size + std::abs(left) > 1.9F * one) return {};
    }
    return Coefficients({k[0], k[1], k[2], k[3], k[4]}, std::move(table));
  }

  // The code version of a part; `first` and `last` are the names of the filters for each part.
  static std::optional<CodeFilter> codes(std::string_view first, std::string_view last, const Coefficients& k,
                                         int maximum) {
    if (maximum != 255) return {};
    const auto weights = coefficients(k);
    if (!weights) return {};
    const bool is_first = k[5] == 0;
    return CodeFilter{
        .filter = find_simple_filter(is_first ? first : last), .coefficients = *weights, .rounds = !is_first};
  }

  template <class A, class Read>
  static typename A::Float pixel(A& a, const typename A::Int& x, bool first, Read&& read) {
    using Int = typename A::Int;
    const Int tap = Resampling::first_tap_of(a, x);
    const Int sum = a.fold_int(a.integer_coefficient(0), Int(first ? first_constant : last_constant),
                               [&](const Int& so_far, const Int& t) -> Int {
                                 return so_far + a.integer_table(t * a.integer_coefficient(4) + x) *
                                                     A::floor_int(read(tap + t));
                               });
    if (first) return A::whole_number(sum >> middle_shift);
    return A::whole_number(A::clamp_int(sum >> last_shift, 0, 255));
  }
};

}  // namespace millrace::image::filters
