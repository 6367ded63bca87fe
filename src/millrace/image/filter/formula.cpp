#include "millrace/image/filter/formula.h"

#include "millrace/base/text/in_quotes.h"
#include "millrace/image/filter/coefficients.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>
#include <xxhash.h>

#include <fmt/format.h>

namespace millrace::image {
namespace {

struct Word {
  Operator op;
  std::string_view name;
  int operands;  // arguments that are earlier operations
  int numbers;   // arguments that are plain numbers
};

// In the order of Operator.
constexpr std::array operation_words{
    Word{Operator::constant, "constant", 0, 0},  // followed by its bits in hexadecimal
    Word{Operator::coefficient, "coefficient", 0, 1},
    Word{Operator::pixel, "pixel", 0, 3},
    Word{Operator::column, "column", 0, 0},
    Word{Operator::row, "row", 0, 0},
    Word{Operator::width, "width", 0, 0},
    Word{Operator::height, "height", 0, 0},
    Word{Operator::add, "add", 2, 0},
    Word{Operator::subtract, "subtract", 2, 0},
    Word{Operator::multiply, "multiply", 2, 0},
    Word{Operator::divide, "divide", 2, 0},
    Word{Operator::minimum, "minimum", 2, 0},
    Word{Operator::maximum, "maximum", 2, 0},
    Word{Operator::sqrt, "sqrt", 1, 0},
    Word{Operator::absolute, "absolute", 1, 0},
    Word{Operator::floor, "floor", 1, 0},
    Word{Operator::rint, "rint", 1, 0},
    Word{Operator::select, "select", 3, 0},
    Word{Operator::pixel_at, "pixel_at", 2, 1},
    Word{Operator::table, "table", 1, 0},
    Word{Operator::loop, "loop", 2, 0},
    Word{Operator::step, "step", 0, 1},
    Word{Operator::end, "end", 1, 0},
    Word{Operator::less, "less", 2, 0},
    Word{Operator::less_equal, "less_equal", 2, 0},
    Word{Operator::equal, "equal", 2, 0},
    Word{Operator::not_equal, "not_equal", 2, 0},
    Word{Operator::both, "both", 2, 0},
    Word{Operator::either, "either", 2, 0},
};

static_assert(std::ranges::is_sorted(operation_words, {}, &Word::op));

const Word& word_of(Operator op) { return operation_words[static_cast<std::size_t>(op)]; }

// Whether operand `i` of an operation is a condition.
bool wants_condition(Operator op, int i) {
  return op == Operator::both || op == Operator::either || (op == Operator::select && i == 0);
}

std::string spelled(int inputs, int coefficients, const std::vector<Operation>& list) {
  std::string text = fmt::format("inputs {} coefficients {}", inputs, coefficients);
  for (const Operation& operation : list) {
    const Word& word = word_of(operation.op);
    text += fmt::format("; {}", word.name);
    if (operation.op == Operator::constant)
      text += fmt::format(" {:08x}", std::bit_cast<std::uint32_t>(operation.value));
    for (int i = 0; i < word.operands + word.numbers; ++i)
      text += fmt::format(" {}", operation.arguments.at(static_cast<std::size_t>(i)));
  }
  return text;
}

// Tracks which loop each operation is in while operations are added in order.
class Loops {
 public:
  explicit Loops(std::size_t operations) : around_(operations), uniform_(operations), ends_(operations) {}

  [[nodiscard]] std::size_t depth() const { return open_.size(); }
  [[nodiscard]] bool is_open(std::size_t loop) const { return std::ranges::count(open_, loop) > 0; }
  // Whether the next operation may use this one.
  [[nodiscard]] bool sees(std::size_t operation) const {
    return !around_[operation] || is_open(*around_[operation]);
  }
  // Whether its value is the same for every pixel of a plane.
  [[nodiscard]] bool is_uniform(std::size_t operation) const { return uniform_[operation]; }
  // An `end` requires an open loop.
  void add(std::size_t operation, Operator op, bool uniform) {
    if (op == Operator::loop) open_.push_back(operation);
    if (op == Operator::end) {
      ends_[open_.back()] = operation;
      open_.pop_back();
    }
    if (!open_.empty()) around_[operation] = open_.back();
    uniform_[operation] = uniform;
  }
  [[nodiscard]] const std::vector<std::size_t>& ends() const { return ends_; }

 private:
  std::vector<std::size_t> open_;  // outermost first
  std::vector<std::optional<std::size_t>> around_;
  std::vector<bool> uniform_;
  std::vector<std::size_t> ends_;
};

// Splits a text into words.
class FormulaWords {
 public:
  explicit FormulaWords(std::string_view text) : text_(text) {}

  [[nodiscard]] bool at_end() const { return text_.empty(); }
  // Takes the text up to the next space or semicolon, and that character. Sets `ends` at a semicolon or at
  // the end of the text.
  std::string_view take(bool& ends) {
    const std::size_t end = std::min(text_.find_first_of(" ;"), text_.size());
    const std::string_view word = text_.substr(0, end);
    text_.remove_prefix(end);
    ends = text_.empty() || text_.front() == ';';
    if (!text_.empty()) text_.remove_prefix(1);
    if (ends && text_.starts_with(' ')) text_.remove_prefix(1);
    return word;
  }

 private:
  std::string_view text_;
};

template <class Number> std::optional<Number> number_in(std::string_view word, int base = 10) {
  Number number{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number, base);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return number;
}

}  // namespace

int operands_of(Operator op) { return word_of(op).operands; }

bool Formula::uses(Operator op) const { return std::ranges::count(operations_, op, &Operation::op) > 0; }

Result<Formula> Formula::make(int inputs, int coefficients, std::vector<Operation> list) {
  if (inputs < 0 || inputs > most_formula_inputs)
    return usage_error("a formula has at most {} inputs, not {}", most_formula_inputs, inputs);
  if (coefficients < 0 || coefficients > max_coefficients)
    return usage_error("a formula has 0 to {} coefficients, not {}", max_coefficients, coefficients);
  if (list.empty() || list.size() > most_operations)
    return usage_error("a formula has 1 to {} operations, not {}", most_operations, list.size());

  Formula formula;
  std::vector<bool> is_read(static_cast<std::size_t>(inputs));
  Loops loops(list.size());
  for (std::size_t n = 0; n < list.size(); ++n) {
    const Operation& operation = list[n];
    const auto wrong = [&](std::string_view what) {
      return usage_error("operation {} of the formula, {}, {}", n, word_of(operation.op).name, what);
    };
    bool uniform = operation.op < Operator::select && operation.op != Operator::pixel &&
                   operation.op != Operator::column && operation.op != Operator::row;
    for (int i = 0; i < operands_of(operation.op); ++i) {
      const int operand = operation.arguments.at(static_cast<std::size_t>(i));
      if (operand < 0 || operand >= static_cast<int>(n)) return wrong("uses what does not come before it");
      const auto used = static_cast<std::size_t>(operand);
      if (!loops.sees(used)) return wrong("uses what is within a loop that is over");
      if (makes_condition(list[used].op) != wants_condition(operation.op, i))
        return wrong(wants_condition(operation.op, i) ? "takes a number for a condition"
                                                      : "takes a condition for a number");
      uniform = uniform && loops.is_uniform(used);
    }
    const auto [first, dx, dy] = operation.arguments;
    if (operation.op == Operator::loop) {
      if (!loops.is_uniform(static_cast<std::size_t>(first)))
        return wrong(
            "is not repeated as often for every pixel; coefficients, constants and sizes can say so");
      if (loops.depth() == most_nested_loops)
        return wrong(fmt::format("is within more than {} others", most_nested_loops - 1));
    }
    if (operation.op == Operator::end && loops.depth() == 0) return wrong("ends no loop");
    if (operation.op == Operator::step && (first < 0 || !loops.is_open(static_cast<std::size_t>(first))))
      return wrong("names no loop that is around");
    loops.add(n, operation.op, uniform);
    if (operation.op == Operator::constant && !std::isfinite(operation.value))
      return wrong("is no finite number");
    if (operation.op == Operator::coefficient && (first < 0 || first >= coefficients))
      return wrong("names none that there is");
    if (operation.op != Operator::pixel && operation.op != Operator::pixel_at) continue;
    const int input = operation.op == Operator::pixel ? first : dy;
    if (input < 0 || input >= inputs) return wrong("names no input that there is");
    is_read[static_cast<std::size_t>(input)] = true;
    if (operation.op == Operator::pixel_at) continue;
    const auto far = [](int distance) { return distance < -farthest_pixel || distance > farthest_pixel; };
    if (far(dx) || far(dy)) return wrong(fmt::format("reads more than {} pixels away", farthest_pixel));
    Reach& reach = formula.reach_;
    reach = {.left = std::min(reach.left, dx),
             .right = std::max(reach.right, dx),
             .up = std::min(reach.up, dy),
             .down = std::max(reach.down, dy)};
  }
  if (loops.depth() > 0) return usage_error("a loop of the formula has no end");
  if (makes_condition(list.back().op)) return usage_error("a formula ends with a number, not a condition");
  const auto unread = std::ranges::find(is_read, false);
  if (unread != is_read.end())
    return usage_error("the formula does not read input {}", unread - is_read.begin());

  formula.inputs_ = inputs;
  formula.coefficients_ = coefficients;
  formula.text_ = spelled(inputs, coefficients, list);
  formula.operations_ = std::move(list);
  formula.ends_ = loops.ends();
  const XXH128_hash_t digest = XXH3_128bits(formula.text_.data(), formula.text_.size());
  formula.identity_ = fmt::format("own:{:016x}{:016x}", digest.high64, digest.low64);
  return formula;
}

Result<Formula> Formula::parse(std::string_view text) {
  const auto wrong = [](std::string_view word) {
    return usage_error("no formula: {} is not what belongs there", in_quotes(word));
  };
  FormulaWords words(text);
  std::array<int, 2> counts{};
  bool ends = false;
  constexpr std::array<std::string_view, 2> count_names{"inputs", "coefficients"};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (const auto name = words.take(ends); name != count_names[i] || ends) return wrong(name);
    const auto word = words.take(ends);
    const auto count = number_in<int>(word);
    if (!count || ends != (i + 1 == counts.size())) return wrong(word);
    counts[i] = *count;
  }
  std::vector<Operation> list;
  while (!words.at_end()) {
    if (list.size() == most_operations)
      return usage_error("a formula has at most {} operations", most_operations);
    const auto name = words.take(ends);
    const auto* const found = std::ranges::find(operation_words, name, &Word::name);
    if (found == operation_words.end()) return wrong(name);
    Operation operation{.op = found->op};
    const int arguments = found->operands + found->numbers;
    if (ends != (arguments == 0 && found->op != Operator::constant)) return wrong(name);
    if (found->op == Operator::constant) {
      const auto word = words.take(ends);
      const auto bits = number_in<std::uint32_t>(word, 16);
      if (!bits || !ends) return wrong(word);
      operation.value = std::bit_cast<float>(*bits);
    }
    for (int i = 0; i < arguments; ++i) {
      const auto word = words.take(ends);
      const auto number = number_in<int>(word);
      if (!number || ends != (i + 1 == arguments)) return wrong(word);
      operation.arguments.at(static_cast<std::size_t>(i)) = *number;
    }
    list.push_back(operation);
  }
  return make(counts[0], counts[1], std::move(list));
}

}  // namespace millrace::image
