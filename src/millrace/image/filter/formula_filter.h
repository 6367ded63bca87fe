// Filters that are made at run time: a name, parameters, and a formula for their arithmetic.
#pragma once

#include "millrace/base/result.h"
#include "millrace/image/filter/filter.h"
#include "millrace/image/filter/formula.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace millrace::image {

struct FormulaParameter {
  std::string name;
  std::string summary;
  std::string unit;
  ParameterType type = ParameterType::real;  // or integer
  double minimum = 0;
  double maximum = 1;
  std::optional<double> fallback;  // none: it must be given
};

struct FormulaFilterDraft {
  std::string name;  // of lower case letters, digits and '_', no digit first
  std::string summary;
  ChromaDefault chroma = ChromaDefault::filtered;
  std::vector<FormulaParameter> parameters;  // in the order of the formula's coefficients
  std::shared_ptr<const Formula> formula;
};

// A filter that makes planes of the size of its inputs. Usage error that names it where a name is no name, is
// there twice, a range is none, or there are more or fewer parameters than coefficients.
[[nodiscard]] Result<FilterRef> make_formula_filter(FormulaFilterDraft draft);

// The same without a name or parameters, for who has only kernels to make of it.
[[nodiscard]] FilterRef nameless_filter(std::shared_ptr<const Formula> formula);

}  // namespace millrace::image
