// The value of a formula in any algebra (algebra.h): to a formula what `pixel` is to a filter written in C++.
#pragma once

#include "millrace/image/filter/formula.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace millrace::image {

template <class A>
typename A::Float formula_pixel(const Formula& formula, A& a, const typename A::Int& x,
                                const typename A::Int& y) {
  using Float = typename A::Float;
  using Int = typename A::Int;
  struct Value {
    Float number{};
    typename A::Bool condition{};
  };
  std::vector<Value> values;
  values.reserve(formula.operations().size());
  const auto pixel = [&](const Operation& operation) {
    const auto [input, dx, dy] = operation.arguments;
    const Int at_x = dx == 0 ? x : a.replicate_x(x + dx);
    const Int at_y = dy == 0 ? y : a.replicate_y(y + dy);
    return a.input(input, at_x, at_y);
  };
  for (const Operation& operation : formula.operations()) {
    // Those that it has; of the others nobody reads what these are.
    const auto operand = [&](std::size_t i) -> const Value& {
      return values[static_cast<std::size_t>(operation.arguments[i])];
    };
    const auto number = [&](std::size_t i) -> const Float& { return operand(i).number; };
    const auto condition = [&](std::size_t i) -> const typename A::Bool& { return operand(i).condition; };
    Value value;
    switch (operation.op) {
    case Operator::constant:
      value.number = Float(operation.value);
      break;
    case Operator::coefficient:
      value.number = a.coefficient(operation.arguments[0]);
      break;
    case Operator::pixel:
      value.number = pixel(operation);
      break;
    case Operator::column:
      value.number = A::to_float(x);
      break;
    case Operator::row:
      value.number = A::to_float(y);
      break;
    case Operator::width:
      value.number = A::to_float(a.width());
      break;
    case Operator::height:
      value.number = A::to_float(a.height());
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
      value.number = a.when(condition(0), [&] { return number(1); }, [&] { return number(2); });
      break;
    case Operator::less:
      value.condition = number(0) < number(1);
      break;
    case Operator::less_equal:
      value.condition = number(0) <= number(1);
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
    values.push_back(std::move(value));
  }
  return A::lesser(A::greater(values.back().number, Float(-formula_limit)), Float(formula_limit));
}

}  // namespace millrace::image
