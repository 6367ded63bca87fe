// The zoomable plot of frame times, drawn by uPlot, a browser library embedded in the page.
#pragma once

#include "millrace/report/run/run_document.h"

#include <string>
#include <string_view>

namespace millrace::report {

// The plot's element with its data; invisible without a script. `id`: letters only, unique within a page.
// Empty if frame times were not recorded.
[[nodiscard]] std::string zoomable_plot(const RunDocument& run, std::string_view id);

// uPlot and the script that draws all plots of the page. Insert it once, at the end of the page.
[[nodiscard]] std::string zoom_script();

}  // namespace millrace::report
