// A phase of a run: items of the source from one on, by one plan, until it ends, fails or pauses.
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

// What a phase may do: it ends with the source, or when that has made so many items, or after so long. The
// source's items are numbered from `first_item`.
struct PhaseLimits {
  std::uint64_t first_item = 0;
  std::uint64_t most_items = std::numeric_limits<std::uint64_t>::max();
  double most_seconds = std::numeric_limits<double>::infinity();
};

struct Phase {
  Finished finished;
  bool paused = false;   // it ended with its items or its time; the source may have more
  bool refused = false;  // it failed before anything was called: there was no memory or no thread for it
};

// Where there is no memory, the phase fails; it has no report then. `live`: who may look at it, if anybody.
[[nodiscard]] Phase run_phase(const Program& program, pool::Team& team, const PhasePlan& plan,
                              const RunOptions& options, const PhaseLimits& limits, LiveView* live = nullptr);

}  // namespace millrace::stream
