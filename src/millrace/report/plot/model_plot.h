// Plots predicted times against the number of cores.
#pragma once

#include "millrace/model/report/model_report.h"

#include <string>
#include <vector>

namespace millrace::report {

struct MeasuredTime {
  std::string name;
  int cores = 1;
  double seconds = 0;
};

// An SVG picture, 720 by 440, with logarithmic axes: a line with its interval for every strategy, a dashed
// line for the time of the slowest serial stage, and crosses for measurements.
[[nodiscard]] std::string plot_svg(const model::ModelReport& report,
                                   const std::vector<MeasuredTime>& measured);

}  // namespace millrace::report
