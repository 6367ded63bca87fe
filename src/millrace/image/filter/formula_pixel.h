// Evaluates a formula in any algebra (algebra.h): the counterpart of `pixel` in a filter written in C++.
#pragma once

#include "millrace/image/filter/formula.h"

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace millrace::image {

// Results so far of a formula's operations for one pixel.
template <class A> class FormulaValues {
 public:
  using Float = typename A::Float;
  using Int = typename A::Int;

  FormulaValues(const Formula& formula, A& a, const Int& x, const Int& y)
      : formula_(formula), a_(a), x_(x), y_(y), values_(formula.operations().size()) {}

  [[nodiscard]] const Float& last() const { return values_.back().number; }

  void compute_all() { compute(0, values_.size()); }

 private:
  struct Value {
    Float number{};
    typename A::Bool condition{};
  };

  Float pixel(const Operation& operation) {
    const auto [input, dx, dy] = operation.arguments;
    const Int at_x = dx == 0 ? x_ : a_.replicate_x(x_ + dx);
    const Int at_y = dy == 0 ? y_ : a_.replicate_y(y_ + dy);
    return a_.input(input, at_x, at_y);
  }

  // Never returns NaN: `greater` turns it into `least` before the conversion.
  static Int whole(const Float& v, const Float& least, const Float& most) {
    return A::floor_int(A::lesser(A::greater(v, least), most));
  }

  Float pixel_at(int input, const Float& column, const Float& row) {
    const Float least(-farthest_place);
    const Float most(farthest_place);
    return a_.input(input, a_.clamp_x(input, whole(column, least, most)),
                    a_.clamp_y(input, whole(row, least, most)));
  }

  Float folded(std::size_t loop, const Float& count, const Float& first) {
    const std::size_t end = formula_.end_of(loop);
    const auto result = static_cast<std::size_t>(formula_.operations()[end].arguments[0]);
    return a_.fold(whole(count, Float(0.0F), Float(static_cast<float>(most_repetitions))), first,
                   [&](const Float& so_far, const Int& i) {
                     values_[loop].number = so_far;
                     steps_[loop] = i;
                     compute(loop + 1, end);
                     return values_[result].number;
                   });
  }

  void compute(std::size_t begin, std::size_t end) {
    for (std::size_t n = begin; n < end; ++n) {
      if (formula_.operations()[n].op == Operator::loop) {
        const auto& arguments = formula_.operations()[n].arguments;
        // Copies, because operations inside the loop overwrite values_.
        const Float count = values_[static_cast<std::size_t>(arguments[0])].number;
        const Float first = values_[static_cast<std::size_t>(arguments[1])].number;
        const std::size_t last = formula_.end_of(n);
        values_[last].number = folded(n, count, first);
        n = last;
      } else {
        values_[n] = computed(formula_.operations()[n]);
      }
    }
  }

  Value computed(const Operation& operation) {
    // Only for arguments that are operations; others are plain numbers.
    const auto operand = [&](std::size_t i) -> const Value& {
      return values_[static_cast<std::size_t>(operation.arguments[i])];
    };
    const auto number = [&](std::size_t i) -> const Float& { return operand(i).number; };
    const auto condition = [&](std::size_t i) -> const typename A::Bool& { return operand(i).condition; };
    Value value;
    switch (operation.op) {
    case Operator::constant:
      value.number = A::constant(operation.value);
      break;
    case Operator::coefficient:
      value.number = a_.coefficient(operation.arguments[0]);
      break;
    case Operator::pixel:
      value.number = pixel(operation);
      break;
    case Operator::column:
      value.number = A::to_float(x_);
      break;
    case Operator::row:
      value.number = A::to_float(y_);
      break;
    case Operator::width:
      value.number = A::to_float(a_.width());
      break;
    case Operator::height:
      value.number = A::to_float(a_.height());
      break;
    case Operator::add:
      value.number = number(0) + number(1);
      break;
    case Operator::subtract:
      value.number = number(0) - number(1);
      break;
    case Operator::multiply:
      value.number = number(0) * number(1);
      break;
    case Operator::divide:
      value.number = number(0) / number(1);
      break;
    case Operator::minimum:
      value.number = A::lesser(number(0), number(1));
      break;
    case Operator::maximum:
      value.number = A::greater(number(0), number(1));
      break;
    case Operator::sqrt:
      value.number = A::sqrt(number(0));
      break;
    case Operator::absolute:
      value.number = A::absolute(number(0));
      break;
    case Operator::floor:
      value.number = A::floor(number(0));
      break;
    case Operator::rint:
      value.number = A::rint(number(0));
      break;
    case Operator::select:
      value.number = a_.when(condition(0), [&] { return number(1); }, [&] { return number(2); });
      break;
    case Operator::pixel_at:
      value.number = pixel_at(operation.arguments[2], number(0), number(1));
      break;
    case Operator::table:
      value.number = a_.table(whole(number(0), Float(0.0F), A::to_float(a_.table_length() - Int(1))));
      break;
    case Operator::step:
      value.number = A::to_float(steps_.at(static_cast<std::size_t>(operation.arguments[0])));
      break;
    case Operator::loop:
    case Operator::end:
      break;  // handled in compute
    case Operator::less:
      value.condition = number(0) < number(1);
      break;
    case Operator::less_equal:
      value.condition = A::at_most(number(0), number(1));
      break;
    case Operator::equal:
      value.condition = number(0) == number(1);
      break;
    case Operator::not_equal:
      value.condition = number(0) != number(1);
      break;
    case Operator::both:
      value.condition = condition(0) && condition(1);
      break;
    case Operator::either:
      value.condition = condition(0) || condition(1);
      break;
    }
    return value;
  }

  const Formula& formula_;
  A& a_;
  const Int& x_;
  const Int& y_;
  std::vector<Value> values_;
  std::map<std::size_t, Int> steps_;  // of the enclosing loops
};

template <class A>
typename A::Float formula_pixel(const Formula& formula, A& a, const typename A::Int& x,
                                const typename A::Int& y) {
  using Float = typename A::Float;
  FormulaValues<A> values(formula, a, x, y);
  values.compute_all();
  return A::lesser(A::greater(values.last(), Float(-formula_limit)), Float(formula_limit));
}

}  // namespace millrace::image
