// A formula over hardware event counts that can be stored in a file: "1 - fpu_empty / cycles".
#pragma once

#include "millrace/base/error/result.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::machine {

// Numbers, event names, + - * /, signs and parentheses. A value type; evaluation is thread-safe.
class CounterFormula {
 public:
  CounterFormula() = default;  // empty: evaluates to 0
  // Usage error that gives the problem and its position: an empty formula, an unknown character, a missing
  // parenthesis, a number out of range, more than 64 levels of parentheses, or more than 1000 characters.
  [[nodiscard]] static Result<CounterFormula> parse(std::string_view text);

  // The result. Nothing if an event is unknown or a divisor is 0, because then nothing was counted.
  [[nodiscard]] std::optional<double>
  evaluate(const std::function<std::optional<double>(std::string_view)>& value_of) const;

  // The distinct names, in order of first use.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] friend bool operator==(const CounterFormula& a, const CounterFormula& b) {
    return a.text_ == b.text_;
  }

 private:
  friend class CounterFormulaReader;
  // In postfix order, for evaluation with a stack.
  enum class Operation : std::uint8_t { number, name, add, subtract, multiply, divide, negate };
  struct Step {
    Operation operation = Operation::number;
    double number = 0;
    std::size_t name = 0;  // into names_
  };
  std::string text_;
  std::vector<std::string> names_;
  std::vector<Step> steps_;
};

}  // namespace millrace::machine
