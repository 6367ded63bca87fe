// The two readings of a filter's arithmetic. A filter's `pixel` is a template over an algebra A, which
// provides
//
//   A::Float, A::Int, A::Bool      the values of an expression
//   coefficient(i), integer_coefficient(i), fill()   the filter's numbers
//   value(i)                       coefficient i, which is the value of a pixel
//   table(i), integer_table(i)     the number i of its table, which must have so many
//   table_length()                 how many those are
//   fold(count, first, step)       first, then count times step(value so far, i), i from 0. count may be
//                                  computed, but from no table; places read in a step from a table if they
//                                  are promised to lie inside
//   fold_int(count, first, step)   the same of an Int
//   fold_two(count, first, step)   the same of two values at once, as Sums
//   width(), height()              of the input plane
//   input(k, x, y)                 the pixel of input k; the filter has brought x, y inside the frame
//   replicate_x(x), replicate_y(y)   the nearest coordinate inside the frame: edges are replicated
//   clamp_x(k, x), clamp_y(k, y)   to the part of input k that there is. At the frame's edge that is the
//                                  edge; a kernel that works on a tile may clamp earlier, to what
//                                  `footprint` promised.
//   promise_x(k, x), promise_y(k, y)   x, y as they are: the filter knows that they lie inside that part
//   neighbours(k, x, y)            the pixels (x, y), (x+1, y), (x, y+1) and (x+1, y+1). Past the edge of
//                                  the frame they are finite numbers, of which the filter may take 0 times.
//   source(x, y)                   the place between pixels that the filter is going to read around, as it
//                                  is. A kernel may compute those of a row before it reads any pixel.
//   interior()                     true where the caller knows that no pixel touches an edge; may be false
//                                  although none does. Both ways must give the same bits.
//   when(c, f, g)                  f() or g(); reads in the branch not taken do not happen
//   when_row(c, f, g)              the same of a condition that holds for a whole row or for none of it: a
//                                  kernel computes one of both
//   code(v)                        the whole number not above v, which is not negative: a pixel to be stored
//                                  as a code. No value to compute with
//   lesser(v, w), greater(v, w)    w where neither is: also of two zeros
//   total(v), wide(v)              for filters on codes: a code, and a code with a sign, as whole numbers of
//                                  twice the bits, to add and to multiply
//   whole(i), whole_table(i)       coefficient i, number i of the table as such numbers with a sign. What is
//                                  computed with them must fit, and be exact as a float
//   halved(v)                      half of such a number with a sign, rounded down
//   mean(v, n), mean_by(v, i)      the n-th part of a total to the nearest, halves upwards, n up to 255. The
//                                  second one's n is coefficient i, followed by those of its Divisor
//   whole_number(i)                an Int as the pixel of a stage on codes
//   to_float, floor_int, rint, sqrt, absolute, clamp, clamp_int, logical operators on Bool
//
// ScalarAlgebra computes one pixel and is the reference; HalideAlgebra (halide_algebra.h) builds the
// expression that kernels are compiled from. Both use 32-bit floats without contraction, so that they agree
// to the last bit.
#pragma once

#include "millrace/image/filter/filter.h"

#include <algorithm>
#include <cmath>

namespace millrace::image {

// Where the scalar algebra reads its input pixels. Implementations count, cache or recompute.
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

// Two values that are gone through together.
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
  // A coefficient that is a whole number of pixels.
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
  // The greatest integer not above v; v within the range of int.
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
