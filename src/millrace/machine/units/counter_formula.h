// What counted events say of a thread, as a formula that a file can hold: "1 - fpu_empty / cycles".
#pragma once

#include "millrace/base/result.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::machine {

// Numbers, names of events, + - * /, signs and parentheses. A value; evaluating it is thread-safe.
class CounterFormula {
 public:
  CounterFormula() = default;  // of nothing: 0
  // Usage error that says what is wrong and where: an empty formula, an unknown sign, a missing parenthesis,
  // a number out of range, more than 64 levels of parentheses or 1000 characters.
  [[nodiscard]] static Result<CounterFormula> parse(std::string_view text);

  // What it comes to. Nothing where an event is not known, or it divides by 0: nothing was counted.
  [[nodiscard]] std::optional<double>
  evaluate(const std::function<std::optional<double>(std::string_view)>& value_of) const;

  // The names in it, each once, as they come.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] friend bool operator==(const CounterFormula& a, const CounterFormula& b) {
    return a.text_ == b.text_;
  }

 private:
  friend class CounterFormulaReader;
  // In the order in which a stack computes it.
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
