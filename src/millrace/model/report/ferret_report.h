// The paper's tables beside the predictions, for a terminal.
#pragma once

#include "millrace/model/report/superdome_ferret.h"

#include <string>
#include <vector>

namespace millrace::model {

// Every entry with the error of the paper's model, the formulas and the simulation, median and worst of each,
// and the sizing results.
[[nodiscard]] std::string to_text(const std::vector<FerretPrediction>& predictions,
                                  const std::vector<SizingResult>& sizing);

struct ErrorSummary {
  double median = 0;  // of the magnitudes of relative errors
  double worst = 0;
};
// Of the simulations; with_calibration: also of the entries that constants were derived from.
[[nodiscard]] ErrorSummary simulation_error(const std::vector<FerretPrediction>& predictions,
                                            bool with_calibration);

}  // namespace millrace::model
