// The measurements of the WorkOver paper (figures 11 to 14) beside what contention.h predicts of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace::model {

// Ratios of mean speeds.
struct WorkoverRatios {
  std::optional<double> workover_over_bad;  // bad: like beside like
  std::optional<double> kernel_over_bad;
  double workover_over_kernel = 0;
};

struct WorkoverFigure {
  std::string name;
  // Of what the paper states; where it states a range, its middle.
  WorkoverRatios paper;
  // What like work costs beside its like is taken from paper.workover_over_bad, or where that is not stated
  // from the other figures of the same machine; all else follows. Threads are of two kinds, integer and
  // floating point, in figures 11 and 12; in 13 and 14 they are what the paper's tables 1 and 2 say of each
  // benchmark, and which one a thread runs is drawn.
  WorkoverRatios predicted;
  double pin_only_over_kernel = 0;  // threads bound in the order of their births: the control
  double units_over_kernel = 0;     // by our own rule
};

// Some 100 ms. The same for the same seed, on every machine.
[[nodiscard]] std::vector<WorkoverFigure> workover_figures(std::uint64_t seed = 1);

// As a table, with what it means.
[[nodiscard]] std::string to_text(const std::vector<WorkoverFigure>& figures);

}  // namespace millrace::model
