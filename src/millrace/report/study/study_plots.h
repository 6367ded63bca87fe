// The plots of a study's figures.
#pragma once

#include "millrace/report/study/study_result.h"

#include <string>
#include <vector>

namespace millrace::report {

// As SVG, in display order.
[[nodiscard]] std::vector<std::string> plots_of(Figure figure, const StudyResult& study);

}  // namespace millrace::report
