#include "millrace/image/filter/formula_footprint.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace millrace::image {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

// The range of possible values. If `anything` is set, the value is unknown and may be NaN.
struct Bounds {
  float low = -infinity;
  float high = infinity;
  bool anything = true;

  Bounds() = default;
  Bounds(float least, float most) : low(least), high(most), anything(false) {}

  [[nodiscard]] bool known() const { return !anything && std::isfinite(low) && std::isfinite(high); }
};

Bounds checked(float low, float high) {
  const Bounds bounds(low, high);
  return bounds.known() ? bounds : Bounds();
}

Bounds joined(const Bounds& a, const Bounds& b) {
  if (!a.known() || !b.known()) return {};
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

template <class Of> Bounds at_corners(const Bounds& a, const Bounds& b, Of&& of) {
  if (!a.known() || !b.known()) return {};
  const std::array<float, 4> made{of(a.low, b.low), of(a.low, b.high), of(a.high, b.low), of(a.high, b.high)};
  if (!std::ranges::all_of(made, [](float one) { return std::isfinite(one); })) return {};
  return {std::ranges::min(made), std::ranges::max(made)};
}

template <class Of> Bounds rising(const Bounds& a, Of&& of) {
  return a.known() ? checked(of(a.low), of(a.high)) : Bounds{};
}

// `lesser` and `greater` return the second operand if neither is less or greater, so also if the first is
// NaN. That is why clip() bounds a place that depends on pixels.
Bounds lesser(const Bounds& a, const Bounds& b) {
  if (b.anything) return {};
  return {std::min(a.low, b.low), a.anything ? b.high : std::min(a.high, b.high)};
}
Bounds greater(const Bounds& a, const Bounds& b) {
  if (b.anything) return {};
  return {a.anything ? b.low : std::max(a.low, b.low), std::max(a.high, b.high)};
}

Bounds clamped(const Bounds& a, float least, float most) {
  return {std::clamp(a.low, least, most), std::clamp(a.high, least, most)};
}

class Reading {
 public:
  Reading(const Formula& formula, const Rect& output, Size input, const Coefficients& coefficients)
      : formula_(formula), output_(output), input_(input), coefficients_(coefficients),
        values_(formula.operations().size()), steps_(values_.size()) {}

  Rect read() {
    if (formula_.uses(Operator::pixel)) {
      const Reach& reach = formula_.reach();
      read_ = {output_.x0 + reach.left, output_.y0 + reach.up, output_.x1 + reach.right,
               output_.y1 + reach.down};
    }
    if (formula_.uses(Operator::pixel_at) && !output_.empty()) compute(0, values_.size(), 1);
    return read_;
  }

 private:
  // Loops with more steps than this in total are evaluated once, with an interval that covers all steps.
  static constexpr std::int64_t most_steps = 1024;
  // Limit on table elements examined in total. After that, table look-ups are unbounded.
  static constexpr std::size_t most_looks = std::size_t{1} << 21;

  void compute(std::size_t begin, std::size_t end, std::int64_t times) {
    for (std::size_t n = begin; n < end; ++n) {
      const Operation& operation = formula_.operations()[n];
      if (operation.op != Operator::loop) {
        values_[n] = bounds(operation);
        continue;
      }
      const std::size_t last = formula_.end_of(n);
      values_[last] = looped(n, last, times);
      n = last;
    }
  }

  Bounds looped(std::size_t loop, std::size_t end, std::int64_t times) {
    const auto& arguments = formula_.operations()[loop].arguments;
    const auto result = static_cast<std::size_t>(formula_.operations()[end].arguments[0]);
    const Bounds how_often = clamped(of(arguments[0]), 0, most_repetitions);
    const int count = static_cast<int>(std::floor(how_often.high));
    const Bounds first = of(arguments[1]);
    if (count == 0) return first;
    if (how_often.low != how_often.high || times * count > most_steps) {
      steps_[loop] = {0, static_cast<float>(count - 1)};
      values_[loop] = {};
      compute(loop + 1, end, times);
      return {};
    }
    values_[loop] = first;
    for (int i = 0; i < count; ++i) {
      steps_[loop] = {static_cast<float>(i), static_cast<float>(i)};
      compute(loop + 1, end, times * count);
      values_[loop] = values_[result];
    }
    return values_[loop];
  }

  [[nodiscard]] const Bounds& of(int operation) const { return values_[static_cast<std::size_t>(operation)]; }

  Bounds bounds(const Operation& operation) {
    const auto a = [&]() -> const Bounds& { return of(operation.arguments[0]); };
    const auto b = [&]() -> const Bounds& { return of(operation.arguments[1]); };
    switch (operation.op) {
    case Operator::constant:
      return {operation.value, operation.value};
    case Operator::coefficient: {
      const float value = coefficients_[static_cast<std::size_t>(operation.arguments[0])];
      return checked(value, value);
    }
    case Operator::column:
      return {static_cast<float>(output_.x0), static_cast<float>(output_.x1 - 1)};
    case Operator::row:
      return {static_cast<float>(output_.y0), static_cast<float>(output_.y1 - 1)};
    case Operator::width:
      return {static_cast<float>(input_.width), static_cast<float>(input_.width)};
    case Operator::height:
      return {static_cast<float>(input_.height), static_cast<float>(input_.height)};
    case Operator::add:
      return at_corners(a(), b(), [](float v, float w) { return v + w; });
    case Operator::subtract:
      return at_corners(a(), b(), [](float v, float w) { return v - w; });
    case Operator::multiply:
      return at_corners(a(), b(), [](float v, float w) { return v * w; });
    case Operator::divide:
      if (b().low <= 0 && b().high >= 0) return {};
      return at_corners(a(), b(), [](float v, float w) { return v / w; });
    case Operator::minimum:
      return lesser(a(), b());
    case Operator::maximum:
      return greater(a(), b());
    case Operator::sqrt:
      return a().low < 0 ? Bounds{} : rising(a(), [](float v) { return std::sqrt(v); });
    case Operator::absolute:
      if (!a().known()) return {};
      if (a().low >= 0) return a();
      return {a().high <= 0 ? -a().high : 0.0F, std::max(-a().low, a().high)};
    case Operator::floor:
      return rising(a(), [](float v) { return std::floor(v); });
    case Operator::rint:
      return rising(a(), [](float v) { return std::nearbyint(v); });
    case Operator::select:
      return joined(b(), of(operation.arguments[2]));
    case Operator::pixel_at:
      add_places(a(), b());
      return {};
    case Operator::table:
      return of_table(a());
    case Operator::step:
      return steps_[static_cast<std::size_t>(operation.arguments[0])];
    case Operator::pixel:
    case Operator::loop:
    case Operator::end:
    case Operator::less:
    case Operator::less_equal:
    case Operator::equal:
    case Operator::not_equal:
    case Operator::both:
    case Operator::either:
      return {};
    }
    return {};
  }

  void add_places(const Bounds& column, const Bounds& row) {
    // A place far outside reads the pixel at the edge, so the footprint ends there.
    const auto whole = [](const Bounds& place, int length) {
      const Bounds known = clamped(place, -1.0F, static_cast<float>(length));
      return std::array{static_cast<int>(std::floor(known.low)),
                        static_cast<int>(std::floor(known.high)) + 1};
    };
    const auto [x0, x1] = whole(column, input_.width);
    const auto [y0, y1] = whole(row, input_.height);
    // If all places are outside, the pixel at the edge is still read.
    read_ = bounding(read_, {std::min(x0, input_.width - 1), std::min(y0, input_.height - 1), std::max(x1, 1),
                             std::max(y1, 1)});
  }

  Bounds of_table(const Bounds& index) {
    const std::span<const float> table = coefficients_.table();
    if (table.empty()) return {};
    const Bounds places = clamped(index, 0, static_cast<float>(table.size() - 1));
    const auto first = static_cast<std::size_t>(places.low);
    const auto numbers = table.subspan(first, static_cast<std::size_t>(places.high) - first + 1);
    // Successive steps usually look up the same range.
    if (numbers.data() == looked_up_.data() && numbers.size() == looked_up_.size()) return looked_up_bounds_;
    looks_ += numbers.size();
    if (looks_ > most_looks) return {};
    const auto [low, high] = std::ranges::minmax(numbers);
    looked_up_ = numbers;
    looked_up_bounds_ = checked(low, high);
    return looked_up_bounds_;
  }

  const Formula& formula_;
  const Rect& output_;
  Size input_;
  const Coefficients& coefficients_;
  std::vector<Bounds> values_;
  std::vector<Bounds> steps_;         // of each operation that is a loop
  std::span<const float> looked_up_;  // most recent look-up
  Bounds looked_up_bounds_;
  std::size_t looks_ = 0;
  Rect read_;
};

}  // namespace

Rect formula_footprint(const Formula& formula, const Rect& output, Size input,
                       const Coefficients& coefficients) {
  return Reading(formula, output, input, coefficients).read();
}

}  // namespace millrace::image
