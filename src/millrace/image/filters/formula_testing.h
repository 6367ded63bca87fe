// Formulas for tests, from text or with random operations.
#pragma once

#include "millrace/image/filter/formula_filter.h"
#include "millrace/image/pipeline/pipeline_language.h"
#include "millrace/image/pipeline/pipeline_testing.h"
#include "millrace/image/pipeline/pipeline_toml.h"
#include "millrace/image/pipeline/presets.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace millrace::image {

inline std::shared_ptr<const Formula> own_formula(std::string_view operations, int coefficients = 0,
                                                  int inputs = 1) {
  auto formula =
      Formula::parse(fmt::format("inputs {} coefficients {}; {}", inputs, coefficients, operations));
  if (!formula) throw std::invalid_argument(formula.error().message);
  return std::make_shared<const Formula>(std::move(*formula));
}

// A filter called "own", with parameters t, u, ... from 0 to 1.
inline FilterRef own_filter(std::shared_ptr<const Formula> formula, std::vector<float> table = {}) {
  FormulaFilterDraft draft{.name = "own", .formula = std::move(formula), .table = std::move(table)};
  for (int i = 0; i < draft.formula->coefficients(); ++i)
    draft.parameters.push_back({.name = std::string(1, static_cast<char>('t' + i))});
  auto filter = make_formula_filter(std::move(draft));
  if (!filter) throw std::invalid_argument(filter.error().message);
  return std::move(*filter);
}
inline FilterRef own_filter(std::string_view operations, int coefficients = 0, int inputs = 1) {
  return own_filter(own_formula(operations, coefficients, inputs));
}

// Random arithmetic on constants, most of it divisions, and often by results that are 0 in some way: +0, -0,
// 2 - 2, 0 times a number. Its last operation uses the pixel too.
inline Formula random_formula_of_constants(Random& random, int length) {
  std::vector<Operation> list{{.op = Operator::pixel}};
  const float constants[] = {0.0F, -0.0F, 0.0F, 1.0F, -2.0F, 2.0F, 1.0F / 3, -255.0F, 1e-38F, 1e30F};
  const Operator operators[] = {Operator::divide,   Operator::divide,  Operator::divide,  Operator::subtract,
                                Operator::multiply, Operator::minimum, Operator::maximum, Operator::add};
  const auto recent = [&] {
    const std::size_t reachable = std::min<std::size_t>(list.size(), 5);
    return static_cast<int>(list.size() - 1 - below(random, reachable));
  };
  while (static_cast<int>(list.size()) < length - 1) {
    if (list.size() < 3 || below(random, 3) == 0)
      list.push_back({.op = Operator::constant, .value = constants[below(random, std::size(constants))]});
    else
      list.push_back(
          {.op = operators[below(random, std::size(operators))], .arguments = {recent(), recent(), 0}});
  }
  list.push_back({.op = operators[below(random, std::size(operators))], .arguments = {0, recent(), 0}});
  auto formula = Formula::make(1, 0, std::move(list));
  if (!formula) throw std::logic_error(formula.error().message);
  return std::move(*formula);
}

// Random comparisons of numbers such as NaN, infinities and zeros of both signs, made of pixels and of
// constants. Each condition adds its own power of two to the result. The sign of a zero counts because half
// of the conditions compare its reciprocal.
inline Formula random_formula_of_special_numbers(Random& random, int conditions) {
  std::vector<Operation> list{{.op = Operator::pixel}};
  const auto add = [&](Operator op, int a = 0, int b = 0, int c = 0) {
    list.push_back({.op = op, .arguments = {a, b, c}});
    return static_cast<int>(list.size()) - 1;
  };
  const auto constant = [&](float value) {
    list.push_back({.op = Operator::constant, .value = value});
    return static_cast<int>(list.size()) - 1;
  };
  std::vector<int> numbers{0};
  const auto any = [&] { return numbers[below(random, numbers.size())]; };
  for (const float value : {0.0F, -0.0F, 0.5F, 1.0F, -1.0F})
    numbers.push_back(constant(value));
  const int one = numbers[4];
  const int none = numbers[1];
  const int zero = add(Operator::subtract, 0, 0);
  numbers.push_back(zero);
  numbers.push_back(add(Operator::multiply, zero, numbers[5]));
  numbers.push_back(add(Operator::divide, zero, zero));
  numbers.push_back(add(Operator::divide, one, zero));
  numbers.push_back(add(Operator::subtract, 0, numbers[3]));
  numbers.push_back(add(Operator::sqrt, numbers.back()));
  const Operator arithmetic[] = {Operator::add,     Operator::subtract, Operator::multiply, Operator::divide,
                                 Operator::minimum, Operator::maximum,  Operator::select};
  const Operator comparisons[] = {Operator::less, Operator::less_equal, Operator::less_equal, Operator::equal,
                                  Operator::not_equal};
  const auto compared = [&](int a, int b) {
    return add(comparisons[below(random, std::size(comparisons))], a, b);
  };
  int sum = none;
  float weight = 0.5F;
  for (int n = 0; n < conditions; ++n, weight /= 2) {
    for (int more = 0; more < 2; ++more) {
      const Operator op = arithmetic[below(random, std::size(arithmetic))];
      if (op == Operator::select) {
        const int chosen = compared(any(), any());
        numbers.push_back(add(op, chosen, any(), any()));
      } else {
        numbers.push_back(add(op, any(), any()));
      }
    }
    int condition = n % 2 == 0 ? compared(any(), any())
                               : add(Operator::less, add(Operator::divide, one, numbers.back()), none);
    if (below(random, 3) == 0)
      condition =
          add(below(random, 2) == 0 ? Operator::both : Operator::either, condition, compared(any(), any()));
    sum = add(Operator::add, sum, add(Operator::select, condition, constant(weight), none));
  }
  auto formula = Formula::make(1, 0, std::move(list));
  if (!formula) throw std::logic_error(formula.error().message);
  return std::move(*formula);
}

// Random operations of every kind on any earlier results, with two coefficients, and with tables if
// requested. Results are often not finite.
inline Formula random_formula(Random& random, int inputs, int length, int reach = 2, bool tables = false) {
  std::vector<Operation> list;
  std::vector<int> numbers;
  std::vector<int> conditions;
  // State at the start of a loop: the loop and how many numbers and conditions existed. Results made inside
  // it cannot be used after it.
  struct Around {
    std::size_t numbers;
    std::size_t conditions;
    int loop;
  };
  std::vector<Around> around;
  const auto add = [&](const Operation& operation) {
    (makes_condition(operation.op) ? conditions : numbers).push_back(static_cast<int>(list.size()));
    list.push_back(operation);
  };
  const auto one_of = [&](const std::vector<int>& of) {
    // Prefers recent operations, so that most of them contribute to the result.
    const std::size_t reachable = below(random, 3) == 0 ? of.size() : std::min<std::size_t>(of.size(), 4);
    return of[of.size() - 1 - below(random, reachable)];
  };
  const auto distance = [&] { return static_cast<int>(below(random, 2 * reach + 1)) - reach; };
  const auto end_loop = [&] {
    const int result = one_of(numbers);
    numbers.resize(around.back().numbers);
    conditions.resize(around.back().conditions);
    around.pop_back();
    add({.op = Operator::end, .arguments = {result, 0, 0}});
  };
  for (int input = 0; input < inputs; ++input)
    add({.op = Operator::pixel, .arguments = {input, distance(), distance()}});
  const float constants[] = {0.0F, -0.0F, 1.0F, 0.5F, 1.0F / 3, -7.25F, 255.0F, 1e-30F, 1e30F};
  while (static_cast<int>(list.size()) < length - 1) {
    const auto op = static_cast<Operator>(below(random, static_cast<std::size_t>(Operator::either) + 1));
    Operation operation{.op = op};
    if (op == Operator::loop) {
      if (around.size() == 2 || below(random, 3) != 0) continue;
      add({.op = Operator::constant, .value = static_cast<float>(below(random, 5)) - 0.5F});
      const int count = numbers.back();
      const int first = one_of(numbers);
      around.push_back({numbers.size(), conditions.size(), static_cast<int>(list.size())});
      operation.arguments = {count, first, 0};
    } else if (op == Operator::step) {
      if (around.empty()) continue;
      operation.arguments[0] = around[below(random, around.size())].loop;
    } else if (op == Operator::end) {
      if (around.empty()) continue;
      end_loop();
      continue;
    } else if (op == Operator::table) {
      if (!tables) continue;
      operation.arguments[0] = one_of(numbers);
    } else if (op == Operator::pixel_at) {
      operation.arguments = {one_of(numbers), one_of(numbers),
                             static_cast<int>(below(random, static_cast<std::size_t>(inputs)))};
    } else if (op == Operator::constant) {
      operation.value = constants[below(random, std::size(constants))];
    } else if (op == Operator::coefficient) {
      operation.arguments[0] = static_cast<int>(below(random, 2));
    } else if (op == Operator::pixel) {
      operation.arguments = {static_cast<int>(below(random, static_cast<std::size_t>(inputs))), distance(),
                             distance()};
    } else if (op == Operator::both || op == Operator::either || op == Operator::select) {
      if (conditions.empty()) continue;
      operation.arguments = {one_of(conditions), one_of(conditions), 0};
      if (op == Operator::select)
        operation.arguments = {one_of(conditions), one_of(numbers), one_of(numbers)};
    } else {
      for (int i = 0; i < operands_of(op); ++i)
        operation.arguments[static_cast<std::size_t>(i)] = one_of(numbers);
    }
    add(operation);
  }
  while (!around.empty())
    end_loop();
  add({.op = Operator::add, .arguments = {numbers.back(), one_of(numbers), 0}});
  auto formula = Formula::make(inputs, 2, std::move(list));
  if (!formula) throw std::logic_error(formula.error().message);
  return std::move(*formula);
}

}  // namespace millrace::image
