// Prints the paper's tables next to the predictions.
#pragma once

#include "millrace/model/report/superdome_ferret.h"

#include <string>
#include <vector>

namespace millrace::model {

// Every entry with the errors of the paper's model, the formulas and the simulation, the median and maximum
// of each, and the sizing results.
[[nodiscard]] std::string to_text(const std::vector<FerretPrediction>& predictions,
                                  const std::vector<SizingResult>& sizing);

struct ErrorSummary {
  double median = 0;  // of absolute relative errors
  double worst = 0;
};
// The errors of the simulations. with_calibration: includes the entries from which constants were derived.
[[nodiscard]] ErrorSummary simulation_error(const std::vector<FerretPrediction>& predictions,
                                            bool with_calibration);

}  // namespace millrace::model
