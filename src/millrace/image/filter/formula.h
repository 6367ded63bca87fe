// A formula: the arithmetic of a filter as a value. It corresponds to the `pixel` of a filter written in C++,
// but can be made while the program runs, for example from Python. It is a list of operations on earlier
// results; the last one makes the output pixel. Every algebra can evaluate it (formula_pixel.h), and so can a
// kernel that needs no compiler (formula_kernel.h).
//
// It reads pixels at constant distances or at computed places, with edges replicated, and elements of the
// filter's table. It may repeat some of its operations a number of times chosen per call. Results are the
// bits that IEEE 754 prescribes for its operations on 32-bit floats, one after the other. The result is
// clamped to +-formula_limit, and NaN becomes -formula_limit, so that later filters compute with numbers.
//
// As text: `inputs 1 coefficients 1; pixel 0 0 0; coefficient 0; multiply 0 1`. See `operations` in
// formula.cpp for the words.
#pragma once

#include "millrace/base/error/result.h"
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
inline constexpr int farthest_pixel = 64;  // from the output pixel, in x and in y
inline constexpr float formula_limit = 0x1p32F;
// Computed places are clamped to +-this, and NaN becomes -this, before conversion to integers.
inline constexpr float farthest_place = 0x1p23F;

enum class Operator : std::uint8_t {
  constant,     // value
  coefficient,  // coefficient arguments[0] of the filter
  pixel,        // of input arguments[0], arguments[1] to the right and arguments[2] down
  column,       // x of the output pixel in its plane, from 0
  row,
  width,  // of the plane
  height,
  add,
  subtract,
  multiply,
  divide,
  minimum,  // the second operand if neither is less, see `lesser` in algebra.h
  maximum,
  sqrt,
  absolute,
  floor,
  rint,      // ties to even
  select,    // arguments[1] if condition arguments[0] holds, else arguments[2]; both are computed
  pixel_at,  // of input arguments[2], at column floor(arguments[0]), row floor(arguments[1]), clamped to the
             // plane
  table,     // element floor(arguments[0]) of the filter's table, clamped to its range
  // Repeats the following operations, up to the matching `end`, floor(arguments[0]) times. The count may
  // depend only on coefficients, constants and the plane's size. Within the loop, the value of `loop` is
  // arguments[1] in the first step, then the previous step's value of arguments[0] of the `end`. The value of
  // `end` is the final one.
  loop,
  step,  // index, from 0, of the current step of the enclosing loop arguments[0]
  end,   // of the innermost loop
  // The operations from here on make conditions.
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
  std::array<int, 3> arguments{};  // indices of operations, or as `op` says
  float value = 0;

  bool operator==(const Operation&) const = default;
};

// How far from the output pixel a formula reads; always includes 0.
struct Reach {
  int left = 0;  // at most 0
  int right = 0;
  int up = 0;  // at most 0
  int down = 0;
};

class Formula {
 public:
  // Returns a usage error if an operation uses a later one, one inside a loop that has ended, or a condition
  // as a number, or reads too far away. Also if there are too many operations, the last one is not a number,
  // a loop has no end, or an input is never read. A formula without inputs is a measure, see
  // formula_filter.h.
  [[nodiscard]] static Result<Formula> make(int inputs, int coefficients, std::vector<Operation> operations);
  // The inverse of text().
  [[nodiscard]] static Result<Formula> parse(std::string_view text);

  [[nodiscard]] int inputs() const { return inputs_; }
  [[nodiscard]] int coefficients() const { return coefficients_; }
  [[nodiscard]] const std::vector<Operation>& operations() const { return operations_; }
  // Only of pixels at constant distances.
  [[nodiscard]] const Reach& reach() const { return reach_; }
  [[nodiscard]] bool uses(Operator op) const;
  // Index of the `end` of the loop that begins at operation `loop`.
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
  std::vector<std::size_t> ends_;  // for each operation that is a loop
  std::string text_;
  std::string identity_;
};

// How many of an operation's arguments are operations.
[[nodiscard]] int operands_of(Operator op);

}  // namespace millrace::image
