// The four models of Navarro et al. (paper_models.h) asked about any pipeline: closed (case 1), open (case
// 2), work stealing (case 3) and the central queue that they call Ideal.
#pragma once

#include "millrace/base/result.h"
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
  closed,    // case 1: queues of a bounded length, so that the slowest stage paces all
  open,      // case 2: queues without a bound
  stealing,  // case 3
  ideal,     // one queue for all threads
};
inline constexpr std::array all_paper_cases{PaperCase::closed, PaperCase::open, PaperCase::stealing,
                                            PaperCase::ideal};
[[nodiscard]] std::string_view to_string(PaperCase which);
// "closed", "open", "stealing", "ideal"; usage error that lists them.
[[nodiscard]] Result<PaperCase> paper_case_of(std::string_view name);

struct PaperQuestion {
  std::vector<PaperCase> cases;
  // npTh: threads of all parallel stages together. Serial stages have one each besides.
  std::vector<int> threads;
  int queue = 20;             // closed: N of each stage
  std::optional<int> tokens;  // stealing, ideal: in all; else 5 for every thread
  std::int64_t items = 100'000;
};

struct PaperRow {
  PaperCase which;
  bool collapsed = false;  // neighbouring parallel stages as one; no matter when stealing
  int threads = 1;
  double seconds = 0;
  double speed_up = 0;
};

// By case, structure and threads. In the closed and the open case the parallel stages share the threads
// evenly, each having one at least; both structures are answered where they differ. The paper's service times
// are exponential and its stages pass on each item, so only the work that an item causes in each counts.
// Usage errors: what model::check() says, and numbers out of range.
[[nodiscard]] Result<std::vector<PaperRow>> paper_answer(const Pipeline& pipeline,
                                                         const PaperQuestion& question);

[[nodiscard]] std::string to_text(const std::vector<PaperRow>& rows);
[[nodiscard]] nlohmann::json to_json(const std::vector<PaperRow>& rows);

// The pipeline as the closed and the open case see it, with `threads` in each parallel stage.
[[nodiscard]] std::vector<paper::Station> paper_stations(const Pipeline& pipeline, int threads);

}  // namespace millrace::model
