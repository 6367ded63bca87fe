// The algebra that builds Halide expressions. algebra.h documents each operation. `when` evaluates both
// branches here, because `select` does.
#pragma once

#include "millrace/image/filter/algebra.h"
#include "millrace/image/filter/filter.h"

#include <Halide.h>
#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace millrace::image {

// Arguments of one stage, as parameters of the compiled kernel.
struct StageSymbols {
  Halide::Expr width;
  Halide::Expr height;
  // For all stages of the kernel together, see Interior in kernel.h.
  Halide::Expr interior;       // nonzero: no gathering stage reads outside its frame
  Halide::Expr inner_columns;  // 1: no stencil reaches past the first or last column; else 0
  Halide::Expr fill;
  std::vector<Halide::Expr> coefficients;
  std::function<Halide::Expr(Halide::Expr)> table;  // null if the filter has no table
  Halide::Expr table_length;
  Halide::Type pixels = Halide::Float(32);  // type of its arithmetic: its codes, or floats
};

// The scope in which an expression is built: the loops over the output and the enclosing loops of a pixel.
struct LoopScope {
  Halide::Var x{"x"};
  Halide::Var y{"y"};
  std::vector<Halide::RVar> steps;
  int loops = 0;  // number of loops made so far
};

// Returns the given values, or the same values precomputed for a row; see `source` in algebra.h.
using Keep = std::function<std::vector<Halide::Expr>(const std::vector<Halide::Expr>&)>;
inline std::vector<Halide::Expr> keep_nothing(const std::vector<Halide::Expr>& values) { return values; }

// One input of a stage: how to read it, and the valid coordinates.
struct InputSymbols {
  std::function<Halide::Expr(Halide::Expr, Halide::Expr)> read;
  // May keep the address that the neighbours share.
  std::function<Neighbours<Halide::Expr>(Halide::Expr, Halide::Expr, const Keep&)> read_neighbours;
  Halide::Expr min_x, max_x, min_y, max_y;
};

class HalideAlgebra {
 public:
  using Float = Halide::Expr;
  using Int = Halide::Expr;
  using Bool = Halide::Expr;

  HalideAlgebra(const StageSymbols& stage, const std::vector<InputSymbols>& inputs, LoopScope& scope,
                Keep keep = keep_nothing)
      : stage_(stage), inputs_(inputs), scope_(scope), keep_(std::move(keep)) {}

  [[nodiscard]] Float coefficient(int i) const { return stage_.coefficients[static_cast<std::size_t>(i)]; }
  [[nodiscard]] Int integer_coefficient(int i) const { return Halide::cast<int>(coefficient(i)); }
  [[nodiscard]] Float value(int i) const { return Halide::cast(stage_.pixels, coefficient(i)); }
  [[nodiscard]] Float table(const Int& i) const { return stage_.table(i); }
  [[nodiscard]] Int integer_table(const Int& i) const { return Halide::cast<int>(stage_.table(i)); }
  [[nodiscard]] Int table_length() const { return stage_.table_length; }
  template <class Step> [[nodiscard]] Float fold(const Int& count, const Float& first, Step&& step) {
    return loop(count, {first}, [&](const std::vector<Float>& so_far, const Int& i) {
      return std::vector<Float>{step(so_far[0], i)};
    })[0];
  }
  template <class Step> [[nodiscard]] Int fold_int(const Int& count, const Int& first, Step&& step) {
    return fold(count, first, std::forward<Step>(step));
  }
  template <class Step>
  [[nodiscard]] Sums<Float> fold_two(const Int& count, const Sums<Float>& first, Step&& step) {
    const std::vector<Float> values =
        loop(count, {first.first, first.second}, [&](const std::vector<Float>& so_far, const Int& i) {
          const Sums<Float> next = step(Sums<Float>{so_far[0], so_far[1]}, i);
          return std::vector<Float>{next.first, next.second};
        });
    return {values[0], values[1]};
  }
  [[nodiscard]] Float fill() const { return stage_.fill; }
  [[nodiscard]] Int width() const { return stage_.width; }
  [[nodiscard]] Int height() const { return stage_.height; }
  [[nodiscard]] Float input(int k, const Int& x, const Int& y) const { return of(k).read(x, y); }
  // Clamping x would turn a vector load into a gather; clamping y costs almost nothing.
  [[nodiscard]] Int replicate_x(const Int& x) const {
    const Int last = stage_.width - 1;
    return Halide::select(stage_.inner_columns == 1, Halide::unsafe_promise_clamped(x, 0, last),
                          Halide::clamp(x, 0, last));
  }
  // Computed with unsigned numbers, into which the compiler does not fold constants. Otherwise it writes the
  // same row differently for each row that reads it, and does not recognize it as the same.
  [[nodiscard]] Int replicate_y(const Int& y) const {
    const Int last = Halide::cast<int>(Halide::cast<unsigned>(stage_.height) - 1);
    return Halide::clamp(y, 0, last);
  }
  [[nodiscard]] Int clamp_x(int k, const Int& x) const { return Halide::clamp(x, of(k).min_x, of(k).max_x); }
  [[nodiscard]] Int clamp_y(int k, const Int& y) const { return Halide::clamp(y, of(k).min_y, of(k).max_y); }
  // Without the promise Halide would bound a gather's coordinates itself, too loosely for the buffer of a
  // tile.
  [[nodiscard]] Int promise_x(int k, const Int& x) const {
    return Halide::unsafe_promise_clamped(x, of(k).min_x, of(k).max_x);
  }
  [[nodiscard]] Int promise_y(int k, const Int& y) const {
    return Halide::unsafe_promise_clamped(y, of(k).min_y, of(k).max_y);
  }
  [[nodiscard]] Neighbours<Float> neighbours(int k, const Int& x, const Int& y) const {
    return of(k).read_neighbours(x, y, keep_);
  }
  [[nodiscard]] Place<Float> source(const Float& x, const Float& y) const {
    const std::vector<Float> kept = keep_({x, y});
    return {kept[0], kept[1]};
  }
  [[nodiscard]] Bool interior() const { return stage_.interior != 0; }
  template <class Then, class Else>
  [[nodiscard]] Float when(const Bool& condition, Then&& then, Else&& otherwise) const {
    return Halide::select(condition, then(), otherwise());
  }
  template <class Then, class Else>
  [[nodiscard]] Float when_row(const Bool& condition, Then&& then, Else&& otherwise) const {
    const Float value = then();
    return Halide::Internal::Call::make(value.type(), Halide::Internal::Call::if_then_else,
                                        {condition, value, otherwise()},
                                        Halide::Internal::Call::PureIntrinsic);
  }
  [[nodiscard]] static Float lesser(const Float& v, const Float& w) {
    return v.type().is_float() ? Halide::select(v < w, v, w) : Halide::min(v, w);
  }
  [[nodiscard]] static Float greater(const Float& v, const Float& w) {
    return v.type().is_float() ? Halide::select(v > w, v, w) : Halide::max(v, w);
  }
  // Halide generates "not greater" for v <= w, which is true for NaN. LLVM makes one comparison of these two.
  [[nodiscard]] static Bool at_most(const Float& v, const Float& w) { return v < w || v == w; }
  // Halide takes constants that are equal for the same, also 0 and -0. It does not look into the bits of
  // another type, and LLVM makes them a constant again.
  [[nodiscard]] static Float constant(float v) {
    return v == 0 ? Halide::reinterpret<float>(Float(std::bit_cast<std::uint32_t>(v))) : Float(v);
  }
  [[nodiscard]] Float total(const Float& v) const { return Halide::cast(twice_the_bits(false), v); }
  [[nodiscard]] Float wide(const Float& v) const { return Halide::cast(twice_the_bits(true), v); }
  [[nodiscard]] Float whole(int i) const { return Halide::cast(twice_the_bits(true), coefficient(i)); }
  [[nodiscard]] Float whole_table(const Int& i) const {
    return Halide::cast(twice_the_bits(true), stage_.table(i));
  }
  [[nodiscard]] static Float halved(const Float& v) { return v.type().is_float() ? v : v >> 1; }
  [[nodiscard]] static Float mean(const Float& v, int n) {
    if (v.type().is_float()) return v;
    const Halide::Type type = v.type();
    return Halide::cast(type.with_code(Halide::Type::Int),
                        (v + Halide::cast(type, n / 2)) / Halide::cast(type, n));
  }
  [[nodiscard]] Float mean_by(const Float& v, int i) const {
    if (v.type().is_float()) return v;
    const Halide::Type type = v.type().with_code(Halide::Type::UInt);
    const Float half = Halide::cast(type, integer_coefficient(i) / 2);
    const Float factor = Halide::cast(Halide::UInt(32), Halide::cast(type, integer_coefficient(i + 1)));
    const Float product = Halide::cast(Halide::UInt(32), Halide::cast(type, v) + half) * factor;
    return Halide::cast(type, product >> 16) >> Halide::cast(type, integer_coefficient(i + 2));
  }
  [[nodiscard]] static Float whole_number(const Int& v) { return v; }
  [[nodiscard]] static Float to_float(const Int& v) { return Halide::cast<float>(v); }
  [[nodiscard]] static Int floor_int(const Float& v) {
    return Halide::cast<int>(v.type().is_float() ? Halide::floor(v) : v);
  }
  [[nodiscard]] static Float floor(const Float& v) { return Halide::floor(v); }
  // Conversion to an integer truncates.
  [[nodiscard]] static Float code(const Float& v) { return Halide::cast<int>(v); }
  [[nodiscard]] static Float rint(const Float& v) { return Halide::round(v); }
  [[nodiscard]] static Float sqrt(const Float& v) { return Halide::sqrt(v); }
  [[nodiscard]] static Float absolute(const Float& v) { return Halide::abs(v); }
  [[nodiscard]] static Int clamp_int(const Int& v, const Int& low, const Int& high) {
    return Halide::clamp(v, low, high);
  }
  [[nodiscard]] static Float clamp(const Float& v, float low, float high) {
    return Halide::clamp(v, low, high);
  }

 private:
  // Twice the bits of a code; stages on floats just use floats.
  [[nodiscard]] Halide::Type twice_the_bits(bool sign) const {
    if (stage_.pixels.is_float()) return stage_.pixels;
    return sign ? Halide::Int(2 * stage_.pixels.bits()) : Halide::UInt(2 * stage_.pixels.bits());
  }

  using Values = std::vector<Halide::Expr>;

  // A loop inside the kernel, because the number of steps is known only at call time. It is a function of the
  // output pixel and the steps of the enclosing loops, and is read only at that point, so that it needs
  // memory only for its current values.
  [[nodiscard]] Values loop(const Int& count, Values first,
                            const std::function<Values(const Values&, const Int&)>& step) {
    const Halide::RDom steps(0, count);
    std::vector<Halide::Var> own{scope_.x, scope_.y};
    Values here{scope_.x, scope_.y};
    std::map<std::string, Halide::Expr> own_of;
    for (const Halide::RVar& around : scope_.steps) {
      own.emplace_back("step" + std::to_string(own.size()));
      here.emplace_back(around);
      own_of.emplace(around.name(), own.back());
    }
    Halide::Func folded("folded");
    const auto define = [&](Values values) {
      for (Halide::Expr& value : values)
        value = Halide::Internal::substitute(own_of, value);
      if (values.size() == 1)
        folded(own) = values[0];
      else
        folded(own) = Halide::Tuple(values);
    };
    const auto read = [&](const auto& place) -> Values {
      if (first.size() == 1) return {folded(place)};
      const Halide::FuncRef values = folded(place);
      return {values[0], values[1]};
    };
    define(first);
    ++scope_.loops;
    scope_.steps.push_back(steps.x);
    Values next = step(read(own), Int(steps.x));
    scope_.steps.pop_back();
    // Halide runs an update that does not name the step only once, whatever the number of steps.
    if (std::ranges::none_of(next, [&](const Halide::Expr& value) {
          return Halide::Internal::expr_uses_var(value, steps.x.name());
        }))
      next[0] = Halide::select(Int(steps.x) >= 0, next[0], read(own)[0]);
    define(std::move(next));
    return read(here);
  }

  [[nodiscard]] const InputSymbols& of(int k) const { return inputs_[static_cast<std::size_t>(k)]; }

  const StageSymbols& stage_;
  const std::vector<InputSymbols>& inputs_;
  LoopScope& scope_;
  Keep keep_;
};

}  // namespace millrace::image
