// Motion-adaptive reconstruction of a pixel between the rows of one field, for floats and codes alike. Sums
// of two pixels are not halved, so that codes remain integers.
#pragma once

#include "millrace/image/filters/mirrored_row.h"

#include <array>

namespace millrace::image::filters {

// The pixels that moved_row_twice reads.
inline Rect moved_row_footprint(const Rect& output) {
  return {output.x0 - 3, output.y0 - 2, output.x1 + 3, output.y1 + 2};
}

// Twice the reconstructed pixel. It starts from the mean of the most similar pixels above and below, straight
// or along a slope. This is clamped to the other field's pixels before and after, give or take the change in
// the picture around it. number(v): a pixel as a signed number. A slope is used if it is better than straight
// by more than `slack`.
template <class A, class Number>
typename A::Float moved_row_twice(A& a, const typename A::Int& x, const typename A::Int& y, Number&& number,
                                  const typename A::Float& slack) {
  using Float = typename A::Float;
  const auto at = [&](int frame, int dx, int dy) -> Float {
    return number(a.input(frame, a.replicate_x(x + dx), mirrored_row(a, y + dy)));
  };
  const auto distance = [](const Float& v, const Float& w) -> Float { return A::greater(v - w, w - v); };
  // Sum of the other field's pixels just before and just after the kept field, which comes first in its
  // frame.
  const auto sum_of_other = [&](int dy) -> Float { return at(0, 0, dy) + at(1, 0, dy); };

  std::array<Float, 7> above;
  std::array<Float, 7> below;
  for (int i = 0; i < 7; ++i) {
    above[i] = at(1, i - 3, -1);
    below[i] = at(1, i - 3, 1);
  }
  // Difference along a slope between three pixels above and three below.
  const auto unlike = [&](int slope) -> Float {
    return distance(above[2 + slope], below[2 - slope]) + distance(above[3 + slope], below[3 - slope]) +
           distance(above[4 + slope], below[4 - slope]);
  };
  Float least = unlike(0) - slack;
  Float straight = above[3] + below[3];
  // A steeper slope is used only if the gentler one on the same side was already better.
  for (const int side : {-1, 1}) {
    const Float gentle = unlike(side);
    const Float steep = unlike(2 * side);
    const Float gentle_sum = above[3 + side] + below[3 - side];
    const Float steep_sum = above[3 + 2 * side] + below[3 - 2 * side];
    const auto better = gentle < least;
    const auto best = better && steep < gentle;
    straight = a.when(
        best, [&] { return steep_sum; },
        [&] { return a.when(better, [&] { return gentle_sum; }, [&] { return straight; }); });
    least = a.when(
        best, [&] { return steep; },
        [&] { return a.when(better, [&] { return gentle; }, [&] { return least; }); });
  }

  const Float middle = sum_of_other(0);
  const Float change_before = distance(at(0, 0, -1), above[3]) + distance(at(0, 0, 1), below[3]);
  const Float change_after = distance(at(2, 0, -1), above[3]) + distance(at(2, 0, 1), below[3]);
  Float change = A::greater(distance(at(0, 0, 0), at(1, 0, 0)), A::greater(change_before, change_after));
  // If the rows two away change in the same way, this is a fine pattern and not motion.
  const Float twice_above = above[3] + above[3];
  const Float twice_below = below[3] + below[3];
  const Float upper = sum_of_other(-2) - twice_above;
  const Float lower = sum_of_other(2) - twice_below;
  const Float to_below = middle - twice_below;
  const Float to_above = middle - twice_above;
  const Float highest = A::greater(A::greater(to_below, to_above), A::lesser(upper, lower));
  const Float lowest = A::lesser(A::lesser(to_below, to_above), A::greater(upper, lower));
  const Float zero = middle - middle;  // of the algebra's type. NOLINT(misc-redundant-expression)
  change = A::greater(change, A::greater(lowest, zero - highest));
  return A::greater(A::lesser(straight, middle + change), middle - change);
}

}  // namespace millrace::image::filters
