// Applies the four models of Navarro et al. (paper_models.h) to any pipeline: closed (case 1), open (case 2),
// work stealing (case 3) and the central queue that they call Ideal.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/model/formulas/paper_models.h"
#include "millrace/model/pipeline/pipeline.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace millrace::model {

enum class PaperCase {
  closed,    // case 1: bounded queues, so the slowest stage paces all
  open,      // case 2: unbounded queues
  stealing,  // case 3
  ideal,     // one queue for all threads
};
inline constexpr std::array all_paper_cases{PaperCase::closed, PaperCase::open, PaperCase::stealing,
                                            PaperCase::ideal};
[[nodiscard]] std::string_view to_string(PaperCase which);
// "closed", "open", "stealing", "ideal". The usage error lists them.
[[nodiscard]] Result<PaperCase> paper_case_of(std::string_view name);

struct PaperQuestion {
  std::vector<PaperCase> cases;
  // npTh: threads of all parallel stages together. Serial stages have one more each.
  std::vector<int> threads;
  int queue = 20;             // closed: N of each stage
  std::optional<int> tokens;  // stealing, ideal: in total; default 5 per thread
  std::int64_t items = 100'000;
};

struct PaperRow {
  PaperCase which;
  bool collapsed = false;  // adjacent parallel stages are merged; ignored for stealing
  int threads = 1;
  double seconds = 0;
  double speed_up = 0;
};

// Ordered by case, structure and threads. In the closed and open cases the parallel stages share the threads
// evenly, with at least one each. Both structures are included if they differ. The paper assumes exponential
// service times and stages that pass on every item, so only an item's work per stage counts. Returns the
// usage errors of model::check(), and others for numbers out of range.
[[nodiscard]] Result<std::vector<PaperRow>> paper_answer(const Pipeline& pipeline,
                                                         const PaperQuestion& question);

[[nodiscard]] std::string to_text(const std::vector<PaperRow>& rows);
[[nodiscard]] nlohmann::json to_json(const std::vector<PaperRow>& rows);

// The pipeline as seen by the closed and open cases, with `threads` in each parallel stage.
[[nodiscard]] std::vector<paper::Station> paper_stations(const Pipeline& pipeline, int threads);

}  // namespace millrace::model
