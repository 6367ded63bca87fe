// A formula: the arithmetic of a filter as a value. What a filter's `pixel` is for filters that are written
// in C++, a formula is for those that come to the program while it runs, as from Python: a list of
// operations, each on what earlier ones made, the last of which makes the output pixel. Every algebra can
// evaluate it (formula_pixel.h), as can a kernel that nothing has to be compiled for (formula_kernel.h).
//
// It reads pixels at constant distances, or at places that it computes, the edges of the frame being
// replicated; numbers of the filter's table; and may repeat some of its operations as often as a call says.
// It gives the bits that IEEE 754 prescribes for its operations on 32-bit floats, one after the other. What
// comes out is held within
// +-formula_limit, and NaN at -formula_limit, so that later filters compute with numbers.
//
// As text: `inputs 1 coefficients 1; pixel 0 0 0; coefficient 0; multiply 0 1`. See `operations` in
// formula.cpp for the words.
#pragma once

#include "millrace/base/result.h"
#include "millrace/image/filter/geometry.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::image {

inline constexpr std::size_t most_operations = 1024;
inline constexpr int most_formula_inputs = 8;
inline constexpr int most_repetitions = 4096;  // of one loop
inline constexpr int most_nested_loops = 3;
inline constexpr int farthest_pixel = 64;  // from the output's pixel, in x and in y
inline constexpr float formula_limit = 0x1p32F;
// Places that are computed are held within +-this, and NaN at -this, before they become whole numbers.
inline constexpr float farthest_place = 0x1p23F;

enum class Operator : std::uint8_t {
  constant,     // value
  coefficient,  // coefficient arguments[0] of the filter
  pixel,        // of input arguments[0], arguments[1] to the right and arguments[2] down
  column,       // where the output pixel is in its plane, from 0
  row,
  width,  // of the plane
  height,
  add,
  subtract,
  multiply,
  divide,
  minimum,  // the second where neither is less, see `lesser` in algebra.h
  maximum,
  sqrt,
  absolute,
  floor,
  rint,      // ties to even
  select,    // arguments[1] where condition arguments[0] holds, else arguments[2]; both are computed
  pixel_at,  // of input arguments[2], in column floor(arguments[0]) and row floor(arguments[1]): the nearest
  table,     // number floor(arguments[0]) of the filter's table: the nearest one
  // What follows is done floor(arguments[0]) times, up to the `end`; count of nothing but coefficients,
  // constants and the plane's size. Its value there: arguments[1], then what arguments[0] of the `end` was
  // the last time; afterwards that of the `end` is the last one.
  loop,
  step,  // how often the loop arguments[0], which is around, has been gone through before
  end,   // of the innermost loop
  // What follows makes conditions.
  less,
  less_equal,
  equal,
  not_equal,
  both,
  either,
};
[[nodiscard]] constexpr bool makes_condition(Operator op) { return op >= Operator::less; }

struct Operation {
  Operator op = Operator::constant;
  std::array<int, 3> arguments{};  // operations, or what `op` says
  float value = 0;

  bool operator==(const Operation&) const = default;
};

// How far from the output's pixel a formula reads; 0 is always within.
struct Reach {
  int left = 0;  // at most 0
  int right = 0;
  int up = 0;  // at most 0
  int down = 0;
};

class Formula {
 public:
  // Usage error where an operation uses what does not come before it, or what is within a loop that is over,
  // or a condition for a number, or reads too far away; where there are too many, no number comes last, a
  // loop has no end, or an input is never read. Without inputs it is a measure, see formula_filter.h.
  [[nodiscard]] static Result<Formula> make(int inputs, int coefficients, std::vector<Operation> operations);
  // The inverse of text().
  [[nodiscard]] static Result<Formula> parse(std::string_view text);

  [[nodiscard]] int inputs() const { return inputs_; }
  [[nodiscard]] int coefficients() const { return coefficients_; }
  [[nodiscard]] const std::vector<Operation>& operations() const { return operations_; }
  // Of the pixels at constant distances.
  [[nodiscard]] const Reach& reach() const { return reach_; }
  [[nodiscard]] bool uses(Operator op) const;
  // Where the loop that begins with an operation ends.
  [[nodiscard]] std::size_t end_of(std::size_t loop) const { return ends_[loop]; }
  [[nodiscard]] const std::string& text() const { return text_; }
  // "own:" and a digest of the text, 128 bits in hexadecimal.
  [[nodiscard]] const std::string& identity() const { return identity_; }

 private:
  Formula() = default;

  int inputs_ = 1;
  int coefficients_ = 0;
  std::vector<Operation> operations_;
  Reach reach_;
  std::vector<std::size_t> ends_;  // of each operation that is a loop
  std::string text_;
  std::string identity_;
};

// How many of an operation's arguments are operations.
[[nodiscard]] int operands_of(Operator op);

}  // namespace millrace::image
