// Finds the best structure for each footprint and arithmetic from the measurements. Pure.
#pragma once

#include "millrace/report/study/study_result.h"

#include <optional>
#include <string>
#include <vector>

namespace millrace::report {

struct MapEntry {
  image::Structure best = image::Structure::sequential;
  std::vector<image::Structure> as_good;  // the best, and those that the intervals do not distinguish from it
  MeanInterval second;                    // time of the next best relative to the best
  bool tied = false;                      // the next best is as good
  MeanInterval sequential;                // time of sequential relative to the best
  double best_ms = 0;
};

struct StructureMap {
  int threads = 1;
  MapAxes axes;
  std::vector<std::vector<std::optional<MapEntry>>> entries;  // by number of stages and size
};

[[nodiscard]] StructureMap structure_map(const StudyResult& study, int threads);

// "352x288: backward up to 6 operations a pixel, tiled from 12 on", a line for each size. A structure is
// replaced only when it is no longer as good as the best. If several are equally good throughout, all are
// named.
[[nodiscard]] std::vector<std::string> crossings(const StructureMap& map);

}  // namespace millrace::report
