// Compares the measurements of the WorkOver paper (figures 11 to 14) with the predictions of contention.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace::model {

// Ratios of mean speeds.
struct WorkoverRatios {
  std::optional<double> workover_over_bad;  // bad: like next to like
  std::optional<double> kernel_over_bad;
  double workover_over_kernel = 0;
};

struct WorkoverFigure {
  std::string name;
  // The paper's values; the middle of a range.
  WorkoverRatios paper;
  // The cost of like work next to like is taken from paper.workover_over_bad, or from the other figures of
  // the same machine if the paper omits it. Everything else follows. In figures 11 and 12 threads are of two
  // kinds, integer and floating point. In 13 and 14 their demands come from the paper's tables 1 and 2, and
  // each thread's benchmark is drawn at random.
  WorkoverRatios predicted;
  double pin_only_over_kernel = 0;  // threads pinned in creation order: the control
  double units_over_kernel = 0;     // with our own rule
};

// Takes about 100 ms. The same seed gives the same result on every machine.
[[nodiscard]] std::vector<WorkoverFigure> workover_figures(std::uint64_t seed = 1);

// A table with its conclusions.
[[nodiscard]] std::string to_text(const std::vector<WorkoverFigure>& figures);

}  // namespace millrace::model
