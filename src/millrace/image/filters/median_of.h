// The median of a fixed number of values, using only comparisons of pairs.
#pragma once

#include <array>
#include <cstddef>

namespace millrace::image::filters {

// Discards extremes: the median of N values is neither the least nor the greatest of the first N/2+2 of them.
// Each further value replaces one of the two discarded values.
template <class A, std::size_t N>
typename A::Float median_of(const std::array<typename A::Float, N>& values) {
  using Float = typename A::Float;
  static_assert(N % 2 == 1 && N >= 3);
  std::array<Float, N / 2 + 2> kept;
  for (std::size_t i = 0; i < kept.size(); ++i)
    kept[i] = values[i];
  const auto order = [](Float& low, Float& high) {
    const Float lesser = A::lesser(low, high);
    high = A::greater(low, high);
    low = lesser;
  };
  std::size_t next = kept.size();
  for (std::size_t count = kept.size();; --count) {
    // Moves the least to the front and the greatest to the end: orders pairs, then each half.
    for (std::size_t i = 0; i < count / 2; ++i)
      order(kept[i], kept[count - 1 - i]);
    const std::size_t half = (count + 1) / 2;
    for (std::size_t i = 1; i < half; ++i)
      order(kept[0], kept[i]);
    for (std::size_t i = count / 2; i + 1 < count; ++i)
      order(kept[i], kept[count - 1]);
    if (next == N) return kept[1];
    kept[0] = values[next++];
  }
}

}  // namespace millrace::image::filters
