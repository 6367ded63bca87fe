// The operations that a filter's arithmetic may use, and their scalar implementation. A filter's `pixel` is a
// template over an algebra A, which provides:
//
//   A::Float, A::Int, A::Bool      types of expressions
//   coefficient(i), integer_coefficient(i), fill()   the filter's coefficients and the value outside the
//                                  frame
//   value(i)                       coefficient i if it is a pixel value: converted to the stage's pixel type
//   table(i), integer_table(i)     element i of the filter's table; i must be in range
//   table_length()                 number of elements in the table
//   fold(count, first, step)       starts with first and applies value = step(value, i) for i from 0 to
//                                  count-1. count may be computed, but not from the table. A step may read
//                                  pixels at places taken from the table if they are promised to be inside
//   fold_int(count, first, step)   the same for an Int
//   fold_two(count, first, step)   the same for two values at once, as Sums
//   width(), height()              size of the input plane
//   input(k, x, y)                 the pixel of input k; the filter must have brought x, y inside the frame
//   replicate_x(x), replicate_y(y)   the nearest coordinate inside the frame: edges are replicated
//   clamp_x(k, x), clamp_y(k, y)   clamps to the available part of input k. At the frame's edge this
//                                  replicates the edge; a kernel that works on a tile may clamp earlier, to
//                                  the region that `footprint` promised
//   promise_x(k, x), promise_y(k, y)   x, y unchanged: the filter promises that they are inside that part
//   neighbours(k, x, y)            the pixels (x, y), (x+1, y), (x, y+1) and (x+1, y+1). Those past the edge
//                                  of the frame are arbitrary finite numbers; the filter must give them
//                                  weight 0
//   source(x, y)                   returns its arguments: the fractional place around which the filter is
//                                  about to read. A kernel may compute the places of a row before it reads
//                                  any pixel
//   interior()                     true if the caller knows that no pixel touches an edge. It may be false
//                                  even if none does, so both ways must give the same bits
//   when(c, f, g)                  f() if c, else g(). ScalarAlgebra evaluates only the branch taken;
//                                  HalideAlgebra evaluates both, so reads in both branches must be valid
//   when_row(c, f, g)              the same if c is constant along a row: a kernel evaluates only one branch
//   code(v)                        floor of a non-negative v, to be stored as a code. Do not compute with it
//   lesser(v, w), greater(v, w)    minimum and maximum; w if neither is (two zeros of either sign, or NaN)
//   at_most(v, w)                  v <= w: false if either is NaN
//   constant(v)                    a number of a formula, whose sign counts even if it is zero
//   total(v), wide(v)              for filters on codes: a code as an unsigned or signed integer of twice the
//                                  bits, for sums and products
//   whole(i), whole_table(i)       coefficient i or table element i as such a signed integer. Results
//                                  computed with them must fit, and must be exact as a float
//   halved(v)                      half of such a signed integer, rounded down
//   mean(v, n), mean_by(v, i)      a total divided by n, to nearest, halves up; n <= 255. mean_by takes n
//                                  from coefficient i, followed by the numbers of its Divisor
//   whole_number(i)                an Int as a pixel of a stage on codes
//   to_float, floor_int, rint, sqrt, absolute, clamp, clamp_int, logical operators on Bool
//
// ScalarAlgebra computes one pixel and is the reference. HalideAlgebra (halide_algebra.h) builds the
// expression that kernels are compiled from. Both use 32-bit floats without contraction, so they agree to the
// last bit.
#pragma once

#include "millrace/image/filter/filter.h"

#include <algorithm>
#include <cmath>

namespace millrace::image {

// Supplies the input pixels for the scalar algebra. Implementations count, cache or recompute.
class PixelSource {
 public:
  virtual ~PixelSource() = default;
  [[nodiscard]] virtual float read(int input, int x, int y) = 0;
};

// A place between pixels.
template <class Float> struct Place {
  Float x;
  Float y;
};

// Two values that one fold computes together.
template <class Float> struct Sums {
  Float first;
  Float second;
};

template <class Float> struct Neighbours {
  Float top_left;
  Float top_right;
  Float bottom_left;
  Float bottom_right;
};

class ScalarAlgebra {
 public:
  using Float = float;
  using Int = int;
  using Bool = bool;

  ScalarAlgebra(PixelSource& source, const PlaneGeometry& input, const Coefficients& coefficients)
      : source_(source), input_(input), coefficients_(coefficients) {}

  [[nodiscard]] float coefficient(int i) const { return coefficients_[i]; }
  // For a coefficient that is a whole number of pixels.
  [[nodiscard]] int integer_coefficient(int i) const { return static_cast<int>(coefficient(i)); }
  [[nodiscard]] float value(int i) const { return coefficient(i); }
  [[nodiscard]] float table(int i) const { return coefficients_.table()[i]; }
  [[nodiscard]] int integer_table(int i) const { return static_cast<int>(table(i)); }
  [[nodiscard]] int table_length() const { return static_cast<int>(coefficients_.table().size()); }
  template <class Step> [[nodiscard]] static float fold(int count, float first, Step&& step) {
    for (int i = 0; i < count; ++i)
      first = step(first, i);
    return first;
  }
  template <class Step> [[nodiscard]] static int fold_int(int count, int first, Step&& step) {
    for (int i = 0; i < count; ++i)
      first = step(first, i);
    return first;
  }
  template <class Step> [[nodiscard]] static Sums<float> fold_two(int count, Sums<float> first, Step&& step) {
    for (int i = 0; i < count; ++i)
      first = step(first, i);
    return first;
  }
  [[nodiscard]] float fill() const { return input_.fill; }
  [[nodiscard]] int width() const { return input_.size.width; }
  [[nodiscard]] int height() const { return input_.size.height; }
  [[nodiscard]] float input(int k, int x, int y) { return source_.read(k, x, y); }
  [[nodiscard]] int replicate_x(int x) const { return std::clamp(x, 0, width() - 1); }
  [[nodiscard]] int replicate_y(int y) const { return std::clamp(y, 0, height() - 1); }
  [[nodiscard]] int clamp_x(int /*k*/, int x) const { return std::clamp(x, 0, width() - 1); }
  [[nodiscard]] int clamp_y(int /*k*/, int y) const { return std::clamp(y, 0, height() - 1); }
  [[nodiscard]] static int promise_x(int /*k*/, int x) { return x; }
  [[nodiscard]] static int promise_y(int /*k*/, int y) { return y; }
  [[nodiscard]] Neighbours<float> neighbours(int k, int x, int y) {
    const int right = std::min(x + 1, width() - 1);
    const int below = std::min(y + 1, height() - 1);
    return {input(k, x, y), input(k, right, y), input(k, x, below), input(k, right, below)};
  }
  [[nodiscard]] static Place<float> source(float x, float y) { return {x, y}; }
  [[nodiscard]] bool interior() const { return false; }
  template <class Then, class Else> [[nodiscard]] float when(bool condition, Then&& then, Else&& otherwise) {
    return condition ? then() : otherwise();
  }
  template <class Then, class Else>
  [[nodiscard]] float when_row(bool condition, Then&& then, Else&& otherwise) {
    return condition ? then() : otherwise();
  }
  [[nodiscard]] static float lesser(float v, float w) { return v < w ? v : w; }
  [[nodiscard]] static float greater(float v, float w) { return v > w ? v : w; }
  [[nodiscard]] static bool at_most(float v, float w) { return v <= w; }
  [[nodiscard]] static float constant(float v) { return v; }
  [[nodiscard]] static float total(float v) { return v; }
  [[nodiscard]] static float wide(float v) { return v; }
  [[nodiscard]] float whole(int i) const { return coefficient(i); }
  [[nodiscard]] float whole_table(int i) const { return table(i); }
  [[nodiscard]] static float halved(float v) { return std::floor(v * 0.5F); }
  [[nodiscard]] static float mean(float v, int n) {
    const int whole = (static_cast<int>(v) + n / 2) / n;
    return static_cast<float>(whole);
  }
  [[nodiscard]] float mean_by(float v, int i) const { return mean(v, integer_coefficient(i)); }
  [[nodiscard]] static float whole_number(int v) { return static_cast<float>(v); }
  [[nodiscard]] static float to_float(int v) { return static_cast<float>(v); }
  // Floor of v, which must be within the range of int.
  [[nodiscard]] static int floor_int(float v) { return static_cast<int>(std::floor(v)); }
  [[nodiscard]] static float floor(float v) { return std::floor(v); }
  [[nodiscard]] static float code(float v) { return std::floor(v); }
  [[nodiscard]] static float rint(float v) { return std::nearbyint(v); }  // ties to even
  [[nodiscard]] static float sqrt(float v) { return std::sqrt(v); }
  [[nodiscard]] static float absolute(float v) { return std::fabs(v); }
  [[nodiscard]] static int clamp_int(int v, int low, int high) { return std::clamp(v, low, high); }
  [[nodiscard]] static float clamp(float v, float low, float high) {
    return std::max(std::min(v, high), low);
  }

 private:
  PixelSource& source_;
  const PlaneGeometry& input_;
  const Coefficients& coefficients_;
};

}  // namespace millrace::image
