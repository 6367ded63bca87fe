// LiveReport: where a stream is that runs, at the moment of the look.
#pragma once

#include "millrace/base/export.h"
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
  int calls = 0;                   // under way: threads that are in the stage's function
  std::uint64_t waiting = 0;       // items that wait for their continuation
  std::uint64_t items_queued = 0;  // items that have come and not entered: queued, early, or without room
};

// Its numbers are counted by the threads of the run and read one after another while they count on: each was
// true at some moment of the look, and two of them need not fit each other to the item. A look adds up
// what the threads count in any case; they do not notice it.
struct LiveReport {
  double wall_s = 0;  // since the run began; of one that is over, how long it took
  bool is_over = false;
  // What it runs by just now; `auto` may come to another plan.
  Strategy strategy = Strategy::stealing;
  int threads = 0;
  int tokens = 0;
  std::optional<PlanDecision> decision;  // the last that `auto` has made
  std::uint64_t items_made = 0;          // by the source
  std::uint64_t items_in_flight = 0;     // of those, not all the way through; never more than tokens
  std::size_t bytes_in_flight = 0;
  double items_per_s = 0;  // through all stages, in the mean since the run began
  std::vector<LiveStage> stages;

  [[nodiscard]] std::uint64_t items_done() const { return items_made - items_in_flight; }
};

// How many items a second have come through between two looks at a run; 0 where no time lies between them.
[[nodiscard]] MILLRACE_EXPORT double items_per_second(const LiveReport& from, const LiveReport& to);

}  // namespace millrace::stream
