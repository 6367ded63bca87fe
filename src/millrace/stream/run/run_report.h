// RunReport: what happened in each stage of a run.
#pragma once

#include "millrace/base/export.h"
#include "millrace/base/histogram.h"
#include "millrace/base/result.h"
#include "millrace/stream/run/run_options.h"
#include "millrace/stream/run/stage_options.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::stream {

// One stage; the source is the first. Times are 0 and histograms empty when the run was not traced. Short
// calls are timed by sampling and weighted, so a traced count of calls is an estimate that approaches
// items_in.
struct StageReport {
  std::string name;
  std::string kind;  // "source", or as kind_name() has it
  bool blocking = false;
  int threads = 0;              // of its own; 0 where workers serve all stages
  std::uint64_t items_in = 0;   // calls; the source's last one, which ended the stream, not among them
  std::uint64_t items_out = 0;  // items passed on, to wherever

  double busy_s = 0;     // inside the stage's function, summed over threads
  double starved_s = 0;  // threads of its own waiting for an item; blocked source excluded
  double blocked_s =
      0;                // threads of its own waiting for room downstream; the source also for tokens or bytes
  double parked_s = 0;  // items waiting for those before them, or for the stage to be free
  double queued_s = 0;  // items waiting in the stage's queue
  double waited_s = 0;  // items waiting for their continuation, of a stage that waits
  // Mean number of items that waited before the stage (Little's law: (parked_s + queued_s) / wall_s).
  double queue_depth = 0;
  Histogram service_s;  // of the calls
};

// A call of a stage's function, for drawing.
struct TraceEvent {
  int stage = 0;
  int thread = 0;
  std::uint64_t item = 0;     // sequence number of the source
  std::int64_t start_ns = 0;  // since the start of the run
  std::int64_t duration_ns = 0;
};

// Calls that a run keeps of each thread for drawing, from its beginning on: about 3 MB.
inline constexpr std::size_t most_events_a_thread = std::size_t{1} << 16;

// What the strategy `auto` did, and when.
struct PlanDecision {
  enum class Kind {
    started,   // with this plan
    adopted,   // a plan that promised more and the measurement confirmed
    rejected,  // one that the measurement did not confirm, or that could not be run
    changed,   // the plan in use began to take another time: the work or the machine is not what it was
  };
  Kind kind = Kind::started;
  double at_s = 0;       // since the start of the run
  std::string plan;      // as "stealing, 2 threads, 32 tokens"
  double item_s = 0;     // measured with it: wall time by items of the source; 0 if it could not be run
  double against_s = 0;  // of the plan in use until then; of `changed`: before
};
[[nodiscard]] MILLRACE_EXPORT std::string_view to_string(PlanDecision::Kind kind);

struct MILLRACE_EXPORT RunReport {
  Strategy strategy = Strategy::stealing;  // what ran, never auto_
  std::string strategy_reason;             // why, in a sentence, when it was auto_
  int threads = 0;                         // threads that computed, blocking stages' own not counted
  int tokens = 0;
  std::size_t byte_budget = 0;
  std::size_t peak_bytes = 0;  // most bytes of the source's items in flight
  double wall_s = 0;
  double idle_s = 0;  // `stealing`: workers without anything to do, summed
  std::vector<StageReport> stages;
  // Trace::events only; most_events_a_thread, so the first part of a long run.
  std::vector<TraceEvent> events;
  std::uint64_t events_dropped = 0;
  std::map<int, std::size_t> events_kept;  // of each thread, where phases were added
  std::vector<PlanDecision> decisions;     // of `auto`; the first few hundred

  // Adds what the next phase of the same stream did. Strategy, threads and tokens become those of that phase.
  // Of events it keeps as many as one phase may have, and counts the others as dropped. A phase without a
  // report adds nothing.
  void append(const RunReport& phase);
};

}  // namespace millrace::stream
