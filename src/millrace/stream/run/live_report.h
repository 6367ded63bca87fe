// LiveReport: a snapshot of a running stream.
#pragma once

#include "millrace/base/error/export.h"
#include "millrace/stream/run/run_options.h"
#include "millrace/stream/run/run_report.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace::stream {

// One stage; the source is the first.
struct LiveStage {
  std::string name;
  std::string kind;                // as StageReport::kind
  std::uint64_t items_in = 0;      // calls begun since the run began
  std::uint64_t items_out = 0;     // items passed on
  int calls = 0;                   // calls in progress: threads inside the stage's function
  std::uint64_t waiting = 0;       // items that wait for their continuation
  std::uint64_t items_queued = 0;  // items that have arrived but not entered: queued, early, or without room
};

// The threads of the run update the counters while they are read, one after another. Each value was true at
// some moment of the snapshot, but two values may disagree by a few items. The threads count anyway, so a
// snapshot costs them nothing.
struct LiveReport {
  double wall_s = 0;  // since the run began; if the run is over, its total time
  bool is_over = false;
  // The plan in use now. `auto` may change it.
  Strategy strategy = Strategy::stealing;
  int threads = 0;
  int tokens = 0;
  std::optional<PlanDecision> decision;  // the most recent decision of `auto`
  std::uint64_t items_made = 0;          // by the source
  std::uint64_t items_in_flight = 0;     // source items that have not finished; at most tokens
  std::size_t bytes_in_flight = 0;
  double items_per_s = 0;  // that finished all stages, mean since the run began
  std::vector<LiveStage> stages;

  [[nodiscard]] std::uint64_t items_done() const { return items_made - items_in_flight; }
};

// Items per second that finished between two snapshots. 0 if no time has passed between them.
[[nodiscard]] MILLRACE_EXPORT double items_per_second(const LiveReport& from, const LiveReport& to);

}  // namespace millrace::stream
