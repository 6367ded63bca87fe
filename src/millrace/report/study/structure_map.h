// Which structure is best for which footprint and arithmetic, from what was measured. Pure.
#pragma once

#include "millrace/report/study/study_result.h"

#include <optional>
#include <string>
#include <vector>

namespace millrace::report {

struct MapEntry {
  image::Structure best = image::Structure::sequential;
  std::vector<image::Structure> as_good;  // the best, and those that the intervals do not tell from it
  MeanInterval second;                    // time of the next best, of the best's
  bool tied = false;                      // that is as good
  MeanInterval sequential;                // time of sequential, of the best's
  double best_ms = 0;
};

struct StructureMap {
  int threads = 1;
  MapAxes axes;
  std::vector<std::vector<std::optional<MapEntry>>> entries;  // of each number of stages, of each size
};

[[nodiscard]] StructureMap structure_map(const StudyResult& study, int threads);

// "352x288: backward up to 6 operations a pixel, tiled from 12 on", a line for each size. One gives way to
// another only where it is no longer as good as the best; of several that are as good all the while each is
// named.
[[nodiscard]] std::vector<std::string> crossings(const StructureMap& map);

}  // namespace millrace::report
