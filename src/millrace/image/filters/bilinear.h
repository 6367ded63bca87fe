// Bilinear interpolation.
#pragma once

#include "millrace/image/filters/defaults.h"

#include <cmath>

namespace millrace::image::filters {

// The value of input 0 at (x, y): the fill value outside [0,W-1]x[0,H-1]. Inside, the four neighbours are
// weighted bilinearly, the far ones clamped to the edge. At integer coordinates the result is exactly the
// pixel.
template <class A> typename A::Float bilinear(A& a, const typename A::Float& x, const typename A::Float& y) {
  using Float = typename A::Float;
  using Int = typename A::Int;

  const Place<Float> source = a.source(x, y);
  const Float sx = source.x;
  const Float sy = source.y;
  const Float left = A::floor(sx);
  const Float top = A::floor(sy);
  // If x0 is the last column, fx is 0 and the right neighbours have no weight; likewise for the last row.
  const Float fx = sx - left;
  const Float fy = sy - top;
  const auto blend = [&](const Int& x0, const Int& y0) -> Float {
    const Neighbours<Float> near = a.neighbours(0, x0, y0);
    const Float upper = near.top_left + fx * (near.top_right - near.top_left);
    const Float lower = near.bottom_left + fx * (near.bottom_right - near.bottom_left);
    return upper + fy * (lower - upper);
  };

  const auto inside =
      sx >= 0.0F && sx <= A::to_float(a.width() - 1) && sy >= 0.0F && sy <= A::to_float(a.height() - 1);
  return a.when(
      a.interior(), [&] { return blend(a.promise_x(0, A::floor_int(sx)), a.promise_y(0, A::floor_int(sy))); },
      [&] {
        return a.when(
            inside, [&] { return blend(a.clamp_x(0, A::floor_int(sx)), a.clamp_y(0, A::floor_int(sy))); },
            [&] { return Float(a.fill()); });
      });
}

// All planes of a frame share their centre: chroma samples are taken to be spread evenly about the centre of
// the luma samples, whatever siting the video states. So a turn by 180 degrees moves samples unchanged.
// FFmpeg's filters do the same. If chroma is sited to the left, it is off by at most half a luma sample.
inline float centre(int length) { return static_cast<float>(length - 1) * 0.5F; }

// The height of a plane's samples divided by their width: 1 but for the chroma of 4:2:2, where it is 0.5.
inline double sample_shape(const PlaneGeometry& plane) { return double(plane.step_y) / plane.step_x; }

// The pixels that bilinear reads for source coordinates within the given bounds. The bounds are exact, but
// the kernel computes in floats. 1/16 pixel covers the difference for planes of up to 32768 pixels.
inline Rect bilinear_footprint(double min_x, double min_y, double max_x, double max_y) {
  constexpr double slack = 1.0 / 16;
  const auto low = [](double v) { return static_cast<int>(std::floor(std::clamp(v, -1e6, 1e6) - slack)); };
  const auto high = [](double v) {
    return static_cast<int>(std::floor(std::clamp(v, -1e6, 1e6) + slack)) + 2;
  };
  return {low(min_x), low(min_y), high(max_x), high(max_y)};
}

}  // namespace millrace::image::filters
