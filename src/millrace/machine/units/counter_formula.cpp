#include "millrace/machine/units/counter_formula.h"

#include "millrace/base/text/in_quotes.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace millrace::machine {
namespace {

bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

// Recursive descent parser: sums of products of factors.
class CounterFormulaReader {
 public:
  explicit CounterFormulaReader(std::string_view text) : all_(text), rest_(text) {}

  Result<CounterFormula> read() {
    constexpr std::size_t most = 1000;
    if (all_.size() > most)
      return usage_error("a formula of {} characters; {} are enough", all_.size(), most);
    if (Status read = sum(0); !read) return std::unexpected(read.error());
    if (!next_is_end()) return wrong("an operator");
    formula_.text_ = all_;
    return std::move(formula_);
  }

 private:
  using Operation = CounterFormula::Operation;
  static constexpr int deepest = 64;

  Status sum(int depth) {
    if (Status read = product(depth); !read) return read;
    while (true) {
      const bool add = take('+');
      if (!add && !take('-')) return {};
      if (Status read = product(depth); !read) return read;
      step(add ? Operation::add : Operation::subtract);
    }
  }

  Status product(int depth) {
    if (Status read = factor(depth); !read) return read;
    while (true) {
      const bool multiply = take('*');
      if (!multiply && !take('/')) return {};
      if (Status read = factor(depth); !read) return read;
      step(multiply ? Operation::multiply : Operation::divide);
    }
  }

  Status factor(int depth) {
    if (depth > deepest) return usage_error("more than {} levels of parentheses", deepest);
    if (take('-')) {
      if (Status read = factor(depth + 1); !read) return read;
      step(Operation::negate);
      return {};
    }
    if (take('(')) {
      if (Status read = sum(depth + 1); !read) return read;
      return take(')') ? Status() : wrong("')'");
    }
    if (next_is_end()) return wrong("a number or the name of an event");
    if (begins_name(rest_.front())) return name();
    return number();
  }

  Status name() {
    const auto* const end =
        std::ranges::find_if_not(rest_, [](char c) { return begins_name(c) || is_digit(c); });
    std::string found(rest_.begin(), end);
    rest_.remove_prefix(found.size());
    auto& names = formula_.names_;
    const auto known = std::ranges::find(names, found);
    const auto index = static_cast<std::size_t>(known - names.begin());
    if (known == names.end()) names.push_back(std::move(found));
    formula_.steps_.push_back({.operation = Operation::name, .name = index});
    return {};
  }

  Status number() {
    double value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || !is_digit(rest_.front()) || !std::isfinite(value))
      return wrong("a number or the name of an event");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    formula_.steps_.push_back({.operation = Operation::number, .number = value});
    return {};
  }

  void step(Operation operation) { formula_.steps_.push_back({.operation = operation}); }

  bool next_is_end() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size()));
    return rest_.empty();
  }

  bool take(char sign) {
    if (next_is_end() || rest_.front() != sign) return false;
    rest_.remove_prefix(1);
    return true;
  }

  [[nodiscard]] std::unexpected<Error> wrong(std::string_view expected) {
    const bool end = next_is_end();
    return usage_error("the formula {} wants {} {}", in_quotes(all_), expected,
                       end ? "at its end" : "before " + in_quotes(rest_));
  }

  std::string_view all_;
  std::string_view rest_;
  CounterFormula formula_;
};

Result<CounterFormula> CounterFormula::parse(std::string_view text) {
  return CounterFormulaReader(text).read();
}

std::optional<double>
CounterFormula::evaluate(const std::function<std::optional<double>(std::string_view)>& value_of) const {
  std::vector<double> stack;
  for (const Step& step : steps_) {
    if (step.operation == Operation::number) {
      stack.push_back(step.number);
      continue;
    }
    if (step.operation == Operation::name) {
      const auto value = value_of(names_[step.name]);
      if (!value) return std::nullopt;
      stack.push_back(*value);
      continue;
    }
    const double right = stack.back();
    if (step.operation == Operation::negate) {
      stack.back() = -right;
      continue;
    }
    stack.pop_back();
    double& left = stack.back();
    switch (step.operation) {
    case Operation::add:
      left += right;
      break;
    case Operation::subtract:
      left -= right;
      break;
    case Operation::multiply:
      left *= right;
      break;
    default:
      if (right == 0) return std::nullopt;
      left /= right;
    }
  }
  return stack.empty() ? 0 : stack.back();
}

}  // namespace millrace::machine
