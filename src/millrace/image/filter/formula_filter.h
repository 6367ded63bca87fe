// Filters that are made at run time: a name, parameters, and a formula for their arithmetic.
#pragma once

#include "millrace/base/error/result.h"
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
  ParameterType type = ParameterType::real;  // or integer; or list (only last, at most most_list_numbers)
  double minimum = 0;                        // for a list: of each number
  double maximum = 1;
  std::optional<double> fallback;  // default; if empty, the parameter is required
};

inline constexpr std::size_t most_list_numbers = 65536;
inline constexpr std::size_t most_table_numbers = std::size_t{1} << 20;  // given with the filter
// Limit on loop steps per output pixel, some milliseconds. A filter that exceeds it for the given parameters
// and size is refused for that plane, because a frame that has been started cannot be interrupted.
inline constexpr std::int64_t most_steps_of_a_pixel = std::int64_t{1} << 20;

// The output size in luma samples: the floor of what these formulas give. They have no inputs; their width
// and height are those of the filter's input, in luma samples as well. Their coefficients are those of the
// filter except its output size.
struct Measure {
  std::shared_ptr<const Formula> width;
  std::shared_ptr<const Formula> height;

  [[nodiscard]] bool given() const { return width != nullptr && height != nullptr; }
};

// The formula's coefficients are, in this order: the parameters other than the list; the length of the list,
// if there is one; the width and height of the output plane, if there is a measure. Its table is `table`
// followed by the list.
struct FormulaFilterDraft {
  std::string name;  // lower case letters, digits and '_'; must not begin with a digit
  std::string summary;
  ChromaDefault chroma = ChromaDefault::filtered;
  std::vector<FormulaParameter> parameters;
  std::shared_ptr<const Formula> formula;
  std::vector<float> table;
  // If not given, planes have the size of the inputs. If given, the formula must read with pixel_at only,
  // because input pixels have no fixed place relative to output pixels, and `chroma` must not be `passes`.
  Measure measure;
  // If not empty, the filter has one input, and the formula's inputs are these frames of it, counted from the
  // current one. Each may occur once.
  std::vector<int> times;
  bool geometric = false;  // see Filter; implied by a measure
};

// Returns a usage error that names the filter if a name is invalid or used twice, a range is empty, or the
// numbers of coefficients or inputs of the formula do not match the rest.
[[nodiscard]] Result<FilterRef> make_formula_filter(FormulaFilterDraft draft);

// The same without a name or parameters, for callers that only build kernels from it.
[[nodiscard]] FilterRef nameless_filter(std::shared_ptr<const Formula> formula);

}  // namespace millrace::image
