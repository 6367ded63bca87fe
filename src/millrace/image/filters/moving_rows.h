#pragma once

#include "millrace/image/filters/mirrored_row.h"

#include <array>

namespace millrace::image::filters {

// The part of `deinterlace` that looks at the frames before and after too. Rows of one field stay. A pixel
// between them is what the other field has there before and after, moved no further than the picture changes
// around it towards the mean of the two pixels above and below that are most alike, straight or along a
// slope.
struct MovingRows : SameSize {
  static constexpr Access access = Access::window;

  static Filter about() {
    return {.name = "moving_rows",
            .summary = "the rows of one field, and between them what moves with the picture",
            .inputs = 3,
            .parameters = {{.name = "field", .type = ParameterType::integer, .minimum = 0, .maximum = 1}}};
  }

  // 0: the first row that stays
  static Coefficients coefficients(const PlaneGeometry& /*input*/, const ParameterValues& values) {
    return {static_cast<float>(values[0])};
  }

  static Rect footprint(const Rect& output, const PlaneGeometry& /*input*/, const Coefficients& /*c*/) {
    return {output.x0 - 3, output.y0 - 2, output.x1 + 3, output.y1 + 2};
  }

  template <class A>
  static typename A::Float pixel(A& a, const typename A::Int& x, const typename A::Int& y) {
    using Float = typename A::Float;
    const auto at = [&](int frame, int dx, int dy) -> Float {
      return a.input(frame, a.replicate_x(x + dx), mirrored_row(a, y + dy));
    };
    const auto distance = [](const Float& v, const Float& w) -> Float { return A::greater(v - w, w - v); };
    // The other field just before and just after that of the rows that stay, which comes first in its frame.
    const auto mean_of_other = [&](int dy) -> Float { return (at(0, 0, dy) + at(1, 0, dy)) * 0.5F; };

    std::array<Float, 7> above;
    std::array<Float, 7> below;
    for (int i = 0; i < 7; ++i) {
      above[i] = at(1, i - 3, -1);
      below[i] = at(1, i - 3, 1);
    }
    // How unlike three pixels above are to those below, across by a slope.
    const auto unlike = [&](int slope) -> Float {
      return distance(above[2 + slope], below[2 - slope]) + distance(above[3 + slope], below[3 - slope]) +
             distance(above[4 + slope], below[4 - slope]);
    };
    // Straight unless a slope is clearly better: by 2 code values of 8 bits, as in FFmpeg.
    Float least = unlike(0) - 1.5F / 255.0F;
    Float straight = (above[3] + below[3]) * 0.5F;
    // A steeper slope counts where the gentler one to its side was better already.
    for (const int side : {-1, 1}) {
      const Float gentle = unlike(side);
      const Float steep = unlike(2 * side);
      const Float gentle_mean = (above[3 + side] + below[3 - side]) * 0.5F;
      const Float steep_mean = (above[3 + 2 * side] + below[3 - 2 * side]) * 0.5F;
      const auto better = gentle < least;
      const auto best = better && steep < gentle;
      straight = a.when(
          best, [&] { return steep_mean; },
          [&] { return a.when(better, [&] { return gentle_mean; }, [&] { return straight; }); });
      least = a.when(
          best, [&] { return steep; },
          [&] { return a.when(better, [&] { return gentle; }, [&] { return least; }); });
    }

    const Float middle = mean_of_other(0);
    const Float change_before = (distance(at(0, 0, -1), above[3]) + distance(at(0, 0, 1), below[3])) * 0.5F;
    const Float change_after = (distance(at(2, 0, -1), above[3]) + distance(at(2, 0, 1), below[3])) * 0.5F;
    Float change =
        A::greater(distance(at(0, 0, 0), at(1, 0, 0)) * 0.5F, A::greater(change_before, change_after));
    // Where the rows two away go along with it, a fine pattern is no movement.
    const Float upper = mean_of_other(-2) - above[3];
    const Float lower = mean_of_other(2) - below[3];
    const Float to_below = middle - below[3];
    const Float to_above = middle - above[3];
    const Float highest = A::greater(A::greater(to_below, to_above), A::lesser(upper, lower));
    const Float lowest = A::lesser(A::lesser(to_below, to_above), A::greater(upper, lower));
    change = A::greater(change, A::greater(lowest, 0.0F - highest));
    const Float moved = A::greater(A::lesser(straight, middle + change), middle - change);
    const Float here = at(1, 0, 0);
    return a.when(y % 2 == a.integer_coefficient(0), [&] { return here; }, [&] { return moved; });
  }
};

}  // namespace millrace::image::filters
