#include "millrace/image/kernel/halide/filter_expression.h"

#include "millrace/image/filter/formula_pixel.h"
#include "millrace/image/filters/all_filters.h"

#include <map>

namespace millrace::image {

using Halide::Expr;

namespace {

using PixelExpression = Expr (*)(HalideAlgebra&, const Expr&, const Expr&);

template <class F> Expr pixel_expression(HalideAlgebra& a, const Expr& x, const Expr& y) {
  return F::pixel(a, x, y);
}

}  // namespace

Expr filter_expression(const Filter& filter, HalideAlgebra& algebra, const Expr& x, const Expr& y) {
  if (filter.simple().formula) return formula_pixel(*filter.simple().formula, algebra, x, y);
  static const auto table = [] {
    std::map<std::string_view, PixelExpression> t;
    const auto add = [&]<class F>() { t.emplace(F::about().name, &pixel_expression<F>); };
    visit_simple_filters(add);
    return t;
  }();
  return table.at(filter.name)(algebra, x, y);
}

InputSymbols whole_frame_input(const std::function<Expr(Expr, Expr)>& producer,
                               const StageSymbols& consumer) {
  const Expr last_x = consumer.width - 1;
  const Expr last_y = consumer.height - 1;
  return {.read = producer,
          .read_neighbours = [=](const Expr& x, const Expr& y, const Keep&) -> Neighbours<Expr> {
            const Expr right = Halide::min(x + 1, last_x);
            const Expr below = Halide::min(y + 1, last_y);
            return {producer(x, y), producer(right, y), producer(x, below), producer(right, below)};
          },
          .min_x = 0,
          .max_x = last_x,
          .min_y = 0,
          .max_y = last_y};
}

}  // namespace millrace::image
