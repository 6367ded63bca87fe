// A phase of a run: executes one plan from a given source item on, until it ends, fails or pauses.
#pragma once

#include "millrace/pool/team.h"
#include "millrace/stream/live_view.h"
#include "millrace/stream/program/program.h"
#include "millrace/stream/run/run_options.h"
#include "millrace/stream/stream.h"

#include <cstdint>
#include <limits>

namespace millrace::stream {

struct PhasePlan {
  Strategy strategy = Strategy::stealing;  // never auto_
  int threads = 1;
  int tokens = 1;
};

// Limits of a phase. It ends with the source, after `most_items`, or after `most_seconds`. The source's items
// are numbered from `first_item`.
struct PhaseLimits {
  std::uint64_t first_item = 0;
  std::uint64_t most_items = std::numeric_limits<std::uint64_t>::max();
  double most_seconds = std::numeric_limits<double>::infinity();
};

struct Phase {
  Finished finished;
  bool paused = false;   // it reached a limit; the source may have more items
  bool refused = false;  // it failed for lack of memory or threads before anything was called
};

// If memory runs out, the phase fails without a report. `live`: may watch the phase, or null.
[[nodiscard]] Phase run_phase(const Program& program, pool::Team& team, const PhasePlan& plan,
                              const RunOptions& options, const PhaseLimits& limits, LiveView* live = nullptr);

}  // namespace millrace::stream
