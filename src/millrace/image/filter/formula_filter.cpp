#include "millrace/image/filter/formula_filter.h"

#include "millrace/base/text/in_quotes.h"
#include "millrace/image/filter/algebra.h"
#include "millrace/image/filter/formula_footprint.h"
#include "millrace/image/filter/formula_pixel.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::image {
namespace {

// Owns a filter and everything it refers to through views.
struct KeptFilter {
  explicit KeptFilter(FormulaFilterDraft told) : draft(std::move(told)) {}

  FormulaFilterDraft draft;
  FilterRef part;  // if composed
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
  if (!is_name(parameter.name)) return wrong("is not a valid name; use lower case letters, digits and '_'");
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

Status check_list(const FormulaFilterDraft& draft) {
  for (const FormulaParameter& parameter : draft.parameters) {
    if (parameter.type != ParameterType::list) continue;
    if (&parameter != &draft.parameters.back())
      return usage_error("filter {}: the list {} is not its last parameter", draft.name,
                         in_quotes(parameter.name));
    if (parameter.fallback)
      return usage_error("filter {}: the list {} has a default value; lists cannot have one", draft.name,
                         in_quotes(parameter.name));
  }
  if (draft.table.size() > most_table_numbers)
    return usage_error("filter {} has a table of {} numbers; {} is the most", draft.name, draft.table.size(),
                       most_table_numbers);
  const auto infinite = std::ranges::find_if_not(draft.table, [](float one) { return std::isfinite(one); });
  if (infinite != draft.table.end())
    return usage_error("filter {}: number {} of its table is not finite", draft.name,
                       infinite - draft.table.begin());
  return {};
}

bool has_list(const FormulaFilterDraft& draft) {
  return !draft.parameters.empty() && draft.parameters.back().type == ParameterType::list;
}

std::size_t plain_parameters(const FormulaFilterDraft& draft) {
  return draft.parameters.size() - (has_list(draft) ? 1 : 0);
}

// The coefficients of a measure: the plain parameters and the length of the list.
int measure_coefficients(const FormulaFilterDraft& draft) {
  return static_cast<int>(draft.parameters.size());
}

Status check_formula(const FormulaFilterDraft& draft) {
  const Formula& formula = *draft.formula;
  const auto wrong = [&](std::string_view what) { return usage_error("filter {} {}", draft.name, what); };
  if ((draft.measure.width == nullptr) != (draft.measure.height == nullptr))
    return wrong("has a size of one direction alone");
  const int expected = measure_coefficients(draft) + (draft.measure.given() ? 2 : 0);
  if (expected != formula.coefficients())
    return wrong(fmt::format("has {} parameters{}, and its formula {} coefficients", draft.parameters.size(),
                             draft.measure.given() ? " and a size" : "", formula.coefficients()));
  if (formula.inputs() == 0) return wrong("reads no pixel");
  if (formula.uses(Operator::table) && draft.table.empty() && !has_list(draft))
    return wrong("reads a table and has none");
  if (!draft.times.empty() && std::ssize(draft.times) != formula.inputs())
    return wrong(
        fmt::format("reads {} frames, and its formula {} inputs", draft.times.size(), formula.inputs()));
  for (const int time : draft.times) {
    if (time < -max_neighbouring_frames || time > max_neighbouring_frames)
      return wrong(fmt::format("reads a frame that is more than {} away", max_neighbouring_frames));
    if (std::ranges::count(draft.times, time) > 1) return wrong("has a frame twice");
  }
  if (!draft.measure.given()) return {};
  if (draft.chroma == ChromaDefault::passes)
    return wrong(
        "has a size and passes chroma, which would keep the old size; filter chroma or make it neutral");
  if (formula.uses(Operator::pixel))
    return wrong(
        "makes another size and reads pixels at the place of its own; pixel_at reads them elsewhere");
  for (const auto& side : {draft.measure.width, draft.measure.height}) {
    if (side->inputs() != 0 || side->uses(Operator::table) || side->uses(Operator::column) ||
        side->uses(Operator::row))
      return wrong("has a size that reads pixels, a table, or where a pixel is");
    if (side->coefficients() != measure_coefficients(draft))
      return wrong(fmt::format("has {} parameters, and its size {} coefficients", draft.parameters.size(),
                               side->coefficients()));
  }
  return {};
}

Access access_of(const Formula& formula) {
  if (formula.uses(Operator::pixel_at) || formula.uses(Operator::loop)) return Access::window;
  const Reach& reach = formula.reach();
  const int farthest = std::max({-reach.left, reach.right, -reach.up, reach.down});
  return farthest == 0 ? Access::pointwise : farthest == 1 ? Access::stencil : Access::window;
}

// The coefficients of a measure, and the table.
Coefficients parameter_coefficients(const FormulaFilterDraft& draft, const ParameterValues& values) {
  const std::size_t plain = plain_parameters(draft);
  const auto list = std::span(values).subspan(plain);
  std::vector<float> table;
  if (draft.formula->uses(Operator::table)) {
    table = draft.table;
    for (const double number : list)
      table.push_back(static_cast<float>(number));
  }
  Coefficients made({}, std::move(table));
  for (std::size_t i = 0; i < plain; ++i)
    made.set(i, static_cast<float>(values[i]));
  if (has_list(draft)) made.set(plain, static_cast<float>(list.size()));
  return made;
}

// For measures, which read no pixels.
class NoPixels final : public PixelSource {
 public:
  float read(int /*input*/, int /*x*/, int /*y*/) override { return 0; }
};

// Executes each loop once and counts the steps that it would take.
class StepCounter : public ScalarAlgebra {
 public:
  using ScalarAlgebra::ScalarAlgebra;

  template <class Step> [[nodiscard]] float fold(int count, float first, Step&& step) {
    if (count <= 0) return first;
    around_ *= count;
    steps_ += around_;
    const float made = step(first, 0);
    around_ /= count;
    return made;
  }
  [[nodiscard]] std::int64_t steps() const { return steps_; }

 private:
  std::int64_t around_ = 1;  // at most most_repetitions to the power of most_nested_loops
  std::int64_t steps_ = 0;
};

Status check_steps(const FormulaFilterDraft& draft, const Formula& formula, const PlaneGeometry& plane,
                   const Coefficients& coefficients) {
  if (!formula.uses(Operator::loop)) return {};
  NoPixels none;
  StepCounter counter(none, plane, coefficients);
  static_cast<void>(formula_pixel(formula, counter, 0, 0));
  if (counter.steps() <= most_steps_of_a_pixel) return {};
  return usage_error("{} would take {} steps for each pixel of a plane of {}x{}; {} is the most", draft.name,
                     counter.steps(), plane.size.width, plane.size.height, most_steps_of_a_pixel);
}

constexpr int longest_side = 32768;

// Always a whole number, even if the formula gives NaN or infinity.
int measured(const Formula& side, const PlaneGeometry& luma, const Coefficients& coefficients) {
  NoPixels none;
  ScalarAlgebra algebra(none, luma, coefficients);
  return static_cast<int>(std::floor(
      std::clamp(formula_pixel(side, algebra, 0, 0), -1.0F, static_cast<float>(longest_side + 1))));
}

Result<PlaneGeometry> size_of(const FormulaFilterDraft& draft, const PlaneGeometry& input,
                              const ParameterValues& values) {
  if (!draft.measure.given()) return input;
  PlaneGeometry luma = input;
  luma.size = input.luma;
  const Coefficients coefficients = parameter_coefficients(draft, values);
  for (const auto& side : {draft.measure.width, draft.measure.height}) {
    if (Status possible = check_steps(draft, *side, luma, coefficients); !possible)
      return std::unexpected(possible.error());
  }
  const Size made{measured(*draft.measure.width, luma, coefficients),
                  measured(*draft.measure.height, luma, coefficients)};
  if (made.width < 1 || made.height < 1 || made.width > longest_side || made.height > longest_side)
    return usage_error("{}: a frame of {}x{} would become less than 1 pixel or more than {} wide or high",
                       draft.name, input.luma.width, input.luma.height, longest_side);
  PlaneGeometry output = input;
  output.luma = made;
  output.size = {(made.width + input.step_x - 1) / input.step_x,
                 (made.height + input.step_y - 1) / input.step_y};
  return output;
}

// output: geometry from size_of().
Coefficients coefficients_for(const FormulaFilterDraft& draft, const PlaneGeometry& output,
                              const ParameterValues& values) {
  Coefficients made = parameter_coefficients(draft, values);
  if (!draft.measure.given()) return made;
  const auto first = static_cast<std::size_t>(measure_coefficients(draft));
  made.set(first, static_cast<float>(output.size.width));
  made.set(first + 1, static_cast<float>(output.size.height));
  return made;
}

Coefficients coefficients_of(const FormulaFilterDraft& draft, const PlaneGeometry& input,
                             const ParameterValues& values) {
  return coefficients_for(draft, size_of(draft, input, values).value(), values);
}

Result<PlaneGeometry> output_of(const FormulaFilterDraft& draft, const PlaneGeometry& input,
                                const ParameterValues& values) {
  auto output = size_of(draft, input, values);
  if (!output) return output;
  const Coefficients coefficients = coefficients_for(draft, *output, values);
  if (Status possible = check_steps(draft, *draft.formula, input, coefficients); !possible)
    return std::unexpected(possible.error());
  return output;
}

// draft must outlive it.
SimpleFilter simple_of(const FormulaFilterDraft& draft) {
  SimpleFilter made{.has_table = draft.formula->uses(Operator::table),
                    .access = access_of(*draft.formula),
                    .formula = draft.formula};
  made.coefficients = [&draft](const PlaneGeometry& input, const ParameterValues& values) {
    return coefficients_of(draft, input, values);
  };
  made.footprint = [&draft](const Rect& output, const PlaneGeometry& input, const Coefficients& c) {
    return formula_footprint(*draft.formula, output, input.size, c);
  };
  made.pixel = [&draft](ScalarAlgebra& algebra, int x, int y) {
    return formula_pixel(*draft.formula, algebra, x, y);
  };
  return made;
}

// Fields that a filter and its only part have in common. draft must outlive the filter.
void fill_declaration(Filter& filter, const FormulaFilterDraft& draft) {
  filter.name = draft.name;
  filter.summary = draft.summary;
  filter.chroma = draft.chroma;
  filter.geometric = draft.geometric || draft.measure.given();
  for (const FormulaParameter& parameter : draft.parameters)
    filter.parameters.push_back({.name = parameter.name,
                                 .summary = parameter.summary,
                                 .unit = parameter.unit,
                                 .type = parameter.type,
                                 .minimum = parameter.minimum,
                                 .maximum = parameter.maximum,
                                 .required = !parameter.fallback,
                                 .fallback = parameter.fallback.value_or(0),
                                 .most = most_list_numbers});
  filter.output = [&draft](const PlaneGeometry& input, const ParameterValues& values) {
    return output_of(draft, input, values);
  };
}

FilterRef kept(FormulaFilterDraft draft) {
  auto made = std::make_shared<KeptFilter>(std::move(draft));
  fill_declaration(made->filter, made->draft);
  made->filter.inputs = made->draft.formula->inputs();
  made->filter.kind = simple_of(made->draft);
  return std::shared_ptr<const Filter>(made, &made->filter);
}

// A filter of neighbouring frames: it has one part, which does everything except selecting the frames.
FilterRef kept_with_frames(FormulaFilterDraft draft) {
  const auto [first, last] = std::ranges::minmax(draft.times);
  const NeighbouringFrames frames{.before = std::max(-first, 0), .after = std::max(last, 0)};
  std::vector<int> inputs;
  for (const int time : draft.times)
    inputs.push_back(-1 - (time + frames.before));
  auto made = std::make_shared<KeptFilter>(draft);
  made->part = kept(std::move(draft));
  Filter& filter = made->filter;
  fill_declaration(filter, made->draft);
  filter.kind = ComposedFilter{
      .parts = [&part = made->part, inputs](std::span<const PlaneGeometry> /*geometries*/,
                                            const ParameterValues& values) -> std::vector<Part> {
        return {{.filter = part, .values = values, .inputs = inputs}};
      },
      .frames = [frames](const ParameterValues& /*values*/) { return frames; }};
  return std::shared_ptr<const Filter>(made, &made->filter);
}

}  // namespace

Result<FilterRef> make_formula_filter(FormulaFilterDraft draft) {
  if (!is_name(draft.name))
    return usage_error("{} is not a valid name of a filter; use lower case letters, digits and '_'",
                       in_quotes(draft.name));
  for (const FormulaParameter& parameter : draft.parameters) {
    if (Status possible = check_parameter(draft, parameter); !possible)
      return std::unexpected(possible.error());
  }
  if (Status possible = check_list(draft); !possible) return std::unexpected(possible.error());
  if (Status possible = check_formula(draft); !possible) return std::unexpected(possible.error());
  return draft.times.empty() ? kept(std::move(draft)) : kept_with_frames(std::move(draft));
}

FilterRef nameless_filter(std::shared_ptr<const Formula> formula) {
  FormulaFilterDraft draft{.name = "own", .formula = std::move(formula)};
  if (draft.formula->uses(Operator::table)) draft.table = {0};  // kernels ignore its contents
  return kept(std::move(draft));
}

}  // namespace millrace::image
