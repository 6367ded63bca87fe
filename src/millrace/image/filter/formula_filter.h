// Filters that are made at run time: a name, parameters, and a formula for their arithmetic.
#pragma once

#include "millrace/base/result.h"
#include "millrace/image/filter/filter.h"
#include "millrace/image/filter/formula.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace millrace::image {

struct FormulaParameter {
  std::string name;
  std::string summary;
  std::string unit;
  ParameterType type = ParameterType::real;  // or integer; or list, of at most most_list_numbers, as the last
  double minimum = 0;                        // of each number of a list
  double maximum = 1;
  std::optional<double> fallback;  // none: it must be given
};

inline constexpr std::size_t most_list_numbers = 65536;
inline constexpr std::size_t most_table_numbers = std::size_t{1} << 20;  // that are given with the filter
// Of loops, for each pixel that is made: some milliseconds. Where parameters and sizes make them more, the
// filter is refused for that plane: nothing ends a frame that is being made.
inline constexpr std::int64_t most_steps_of_a_pixel = std::int64_t{1} << 20;

// The size of what a filter makes, in luma samples: whole numbers not above what these formulas give, which
// have no inputs, and whose width and height are those of what the filter is given, in luma samples as well.
// Their coefficients are those of the filter but for its size.
struct Measure {
  std::shared_ptr<const Formula> width;
  std::shared_ptr<const Formula> height;

  [[nodiscard]] bool given() const { return width != nullptr && height != nullptr; }
};

// The coefficients of the formula are, one after the other: the parameters but for the list; how many numbers
// the list has, if there is one; the width and the height of the plane that is made, if there is a measure.
// Its table is `table`, and what the list has behind it.
struct FormulaFilterDraft {
  std::string name;  // of lower case letters, digits and '_', no digit first
  std::string summary;
  ChromaDefault chroma = ChromaDefault::filtered;
  std::vector<FormulaParameter> parameters;
  std::shared_ptr<const Formula> formula;
  std::vector<float> table;
  // Without one planes have the size of the inputs. With one the formula reads by pixel_at alone, since no
  // pixel of the input is at the place of one that is made.
  Measure measure;
  // Where there are any, the inputs of the formula are these frames of what is the filter's only input,
  // counted from the one that is made; each once.
  std::vector<int> times;
  bool geometric = false;  // see Filter; what has a measure is
};

// Usage error that names it where a name is no name, is there twice, a range is none, or the formula has more
// or fewer coefficients or inputs than the rest of it.
[[nodiscard]] Result<FilterRef> make_formula_filter(FormulaFilterDraft draft);

// The same without a name or parameters, for who has only kernels to make of it.
[[nodiscard]] FilterRef nameless_filter(std::shared_ptr<const Formula> formula);

}  // namespace millrace::image
