// The plots of a run's page, as inline SVG.
#pragma once

#include "millrace/report/run/run_document.h"

#include <string>
#include <string_view>
#include <vector>

namespace millrace::report {

// "tiled 128x32, fusion none, 2 threads, avx2" for "structure=tiled,fusion=none,tile_width=128,...". Other
// text is returned unchanged.
[[nodiscard]] std::string candidate_text(std::string_view name);

// A bar of the run's time: computing, waiting for input, waiting for output, the rest.
[[nodiscard]] std::string time_shares(const RunDocument& run);

// The pipeline as boxes. Stages of one kernel share a colour. Empty if the pipeline is unknown.
[[nodiscard]] std::string pipeline_graph(const RunDocument& run);

// Each trial with the interval of its ratio, with better ones left of the line. Empty without trials.
inline constexpr std::size_t most_trials_drawn = 60;
[[nodiscard]] std::string trials_plot(const RunDocument& run);

// The schedules over time, and the frame times. Empty if they were not recorded.
struct Period {
  double from = 0;  // seconds
  double to = 0;
  std::string candidate;
};
[[nodiscard]] std::vector<Period> periods_of(const RunDocument& run);
[[nodiscard]] std::string timeline_plot(const RunDocument& run);

}  // namespace millrace::report
