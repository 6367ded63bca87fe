// RunReport: what happened in each stage of a run.
#pragma once

#include "millrace/base/error/export.h"
#include "millrace/base/error/result.h"
#include "millrace/base/numbers/histogram.h"
#include "millrace/stream/run/run_options.h"
#include "millrace/stream/run/stage_options.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::stream {

// One stage; the source is the first. If the run was not traced, times are 0 and histograms empty. Short
// calls are sampled and weighted, so a traced count of calls is an estimate that approaches items_in.
struct StageReport {
  std::string name;
  std::string kind;  // "source", or a kind_name()
  bool blocking = false;
  int threads = 0;              // its own threads; 0 if workers serve all stages
  std::uint64_t items_in = 0;   // calls, without the source's last one, which ended the stream
  std::uint64_t items_out = 0;  // items passed on to any stage

  double busy_s = 0;     // inside the stage's function, summed over threads
  double starved_s = 0;  // own threads waiting for an item; 0 for a blocking source
  double blocked_s = 0;  // own threads waiting for room downstream; for the source, also for tokens or bytes
  double parked_s = 0;   // items waiting for earlier items, or for the stage to be free
  double queued_s = 0;   // items waiting in the stage's queue
  double waited_s = 0;   // items of a stage that waits, until their continuation
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

// Maximum number of calls recorded per thread for drawing, from the start of the run: about 3 MB.
inline constexpr std::size_t most_events_a_thread = std::size_t{1} << 16;

// A decision of the strategy `auto`.
struct PlanDecision {
  enum class Kind {
    started,   // began with this plan
    adopted,   // promised more, and the measurement confirmed it
    rejected,  // not confirmed by the measurement, or could not be run
    changed,   // the plan in use now takes a different time: the workload or the machine has changed
  };
  Kind kind = Kind::started;
  double at_s = 0;       // since the start of the run
  std::string plan;      // for example "stealing, 2 threads, 32 tokens"
  double item_s = 0;     // measured wall time per source item; 0 if the plan could not be run
  double against_s = 0;  // of the plan in use until then; for `changed`, the earlier time of the same plan
};
[[nodiscard]] MILLRACE_EXPORT std::string_view to_string(PlanDecision::Kind kind);

struct MILLRACE_EXPORT RunReport {
  Strategy strategy = Strategy::stealing;  // the strategy that ran, never auto_
  std::string strategy_reason;             // one sentence, if the strategy was auto_
  int threads = 0;                         // computing threads, without those of blocking stages
  int tokens = 0;
  std::size_t byte_budget = 0;
  std::size_t peak_bytes = 0;  // peak bytes of source items in flight
  double wall_s = 0;
  double idle_s = 0;  // `stealing`: workers without work, summed
  std::vector<StageReport> stages;
  // Only with Trace::events. Limited to most_events_a_thread, so the first part of a long run.
  std::vector<TraceEvent> events;
  std::uint64_t events_dropped = 0;
  std::map<int, std::size_t> events_kept;  // by thread, if phases were appended
  std::vector<PlanDecision> decisions;     // by `auto`; the first few hundred

  // Adds the next phase of the same stream. Strategy, threads and tokens become those of that phase. Keeps as
  // many events as one phase may have and counts the others as dropped. A phase without a report adds
  // nothing.
  void append(const RunReport& phase);
};

}  // namespace millrace::stream
