#include "millrace/image/filter/formula_filter.h"

#include "millrace/base/in_quotes.h"
#include "millrace/image/filter/algebra.h"
#include "millrace/image/filter/formula_pixel.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

namespace millrace::image {
namespace {

// A filter with what it has only views of.
struct KeptFilter {
  FormulaFilterDraft draft;
  Filter filter;
};

bool is_name(std::string_view text) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !text.empty() && std::ranges::all_of(text, fits) && !(text.front() >= '0' && text.front() <= '9');
}

Status check_parameter(const FormulaFilterDraft& draft, const FormulaParameter& parameter) {
  const auto wrong = [&](std::string_view what) {
    return usage_error("filter {}: parameter {} {}", draft.name, in_quotes(parameter.name), what);
  };
  if (!is_name(parameter.name)) return wrong("is no name; use lower case letters, digits and '_'");
  if (std::ranges::count(draft.parameters, parameter.name, &FormulaParameter::name) > 1)
    return wrong("is there twice");
  const bool ordered = std::isfinite(parameter.minimum) && std::isfinite(parameter.maximum) &&
                       parameter.minimum <= parameter.maximum;
  if (!ordered) return wrong("has no range; it goes from a number to one that is not less");
  const bool inside = !parameter.fallback ||
                      (*parameter.fallback >= parameter.minimum && *parameter.fallback <= parameter.maximum);
  if (!inside) return wrong("has a default outside its range");
  return {};
}

Access access_of(const Reach& reach) {
  const int farthest = std::max({-reach.left, reach.right, -reach.up, reach.down});
  return farthest == 0 ? Access::pointwise : farthest == 1 ? Access::stencil : Access::window;
}

Coefficients coefficients_of(const PlaneGeometry& /*input*/, const ParameterValues& values) {
  std::array<float, max_coefficients> numbers{};
  std::ranges::transform(values, numbers.begin(), [](double value) { return static_cast<float>(value); });
  return {numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], numbers[6], numbers[7]};
}

Result<PlaneGeometry> same_size(const PlaneGeometry& input, const ParameterValues& /*values*/) {
  return input;
}

FilterRef kept(FormulaFilterDraft draft) {
  auto made = std::make_shared<KeptFilter>(KeptFilter{.draft = std::move(draft), .filter = {}});
  const FormulaFilterDraft& told = made->draft;
  Filter& filter = made->filter;
  filter.name = told.name;
  filter.summary = told.summary;
  filter.chroma = told.chroma;
  filter.formula = told.formula;
  filter.inputs = told.formula->inputs();
  filter.access = access_of(told.formula->reach());
  for (const FormulaParameter& parameter : told.parameters)
    filter.parameters.push_back({.name = parameter.name,
                                 .summary = parameter.summary,
                                 .unit = parameter.unit,
                                 .type = parameter.type,
                                 .minimum = parameter.minimum,
                                 .maximum = parameter.maximum,
                                 .required = !parameter.fallback,
                                 .fallback = parameter.fallback.value_or(0)});
  filter.output = &same_size;
  filter.coefficients = &coefficients_of;
  filter.footprint = [reach = told.formula->reach()](const Rect& output, const PlaneGeometry& /*input*/,
                                                     const Coefficients& /*c*/) {
    return Rect{output.x0 + reach.left, output.y0 + reach.up, output.x1 + reach.right,
                output.y1 + reach.down};
  };
  filter.pixel = [formula = told.formula](ScalarAlgebra& algebra, int x, int y) {
    return formula_pixel(*formula, algebra, x, y);
  };
  return std::shared_ptr<const Filter>(made, &made->filter);
}

}  // namespace

Result<FilterRef> make_formula_filter(FormulaFilterDraft draft) {
  if (!is_name(draft.name))
    return usage_error("{} is no name for a filter; use lower case letters, digits and '_'",
                       in_quotes(draft.name));
  for (const FormulaParameter& parameter : draft.parameters) {
    if (Status possible = check_parameter(draft, parameter); !possible)
      return std::unexpected(possible.error());
  }
  if (std::ssize(draft.parameters) != draft.formula->coefficients())
    return usage_error("filter {} has {} parameters, and its formula {} coefficients", draft.name,
                       draft.parameters.size(), draft.formula->coefficients());
  return kept(std::move(draft));
}

FilterRef nameless_filter(std::shared_ptr<const Formula> formula) {
  return kept({.name = "own", .formula = std::move(formula)});
}

}  // namespace millrace::image
