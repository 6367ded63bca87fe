// The plot of frame times that can be zoomed into: by uPlot, a library for the browser that is a part of the
// page.
#pragma once

#include "millrace/report/run/run_document.h"

#include <string>
#include <string_view>

namespace millrace::report {

// Where it goes, with its data; invisible without a script. `id`: of letters, another for each on a page.
// Empty where frame times were not recorded.
[[nodiscard]] std::string zoomable_plot(const RunDocument& run, std::string_view id);

// uPlot itself and what draws all the plots of the page: at its end, once.
[[nodiscard]] std::string zoom_script();

}  // namespace millrace::report
