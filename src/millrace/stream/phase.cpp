#include "millrace/stream/phase.h"

#include "millrace/stream/engine/engine.h"
#include "millrace/stream/item/out_of_memory.h"
#include "millrace/stream/strategy/pools.h"
#include "millrace/stream/strategy/segments.h"
#include "millrace/stream/strategy/stealing.h"
#include "millrace/stream/strategy/tbb_run.h"

#include <new>
#include <utility>
#include <vector>

namespace millrace::stream {
namespace {

bool has_segments(Strategy strategy) {
  return strategy == Strategy::pools || strategy == Strategy::oversubscribed ||
         strategy == Strategy::collapsed;
}

}  // namespace

Phase run_phase(const Program& program, pool::Team& team, const PhasePlan& plan, const RunOptions& options,
                const PhaseLimits& limits, LiveView* live) {
  bool begun = false;
  try {
    const auto [strategy, threads, tokens] = plan;
    std::vector<Segment> segments;
    if (has_segments(strategy)) segments = segments_of(program, strategy, threads);
    Engine engine(
        program,
        {.tokens = static_cast<std::uint64_t>(tokens),
         .byte_budget = options.byte_budget,
         .trace = options.trace,
         .alone = strategy == Strategy::stealing && threads == 1 && !program.blocks() && !program.waits(),
         .first_item = limits.first_item,
         .most_items = limits.most_items,
         .most_seconds = limits.most_seconds},
        options.stop);
    begun = true;
    const LiveView::Phase seen(live, engine, strategy, threads);
    Phase phase;
    Status& status = phase.finished.status;
    double idle_s = 0;
    if (!segments.empty()) {
      status = run_pools(engine, segments, options.queue_depth);
    } else if (strategy == Strategy::tbb) {
      status = run_tbb(engine, threads);
    } else if (const Result<double> idle = run_stealing(engine, team, threads)) {
      idle_s = *idle;
    } else {
      status = std::unexpected(idle.error());
    }
    if (!status) {
      phase.finished.cause = status.error();
      phase.refused = engine.items() == 0;
    } else if (status = engine.status(); !status) {
      phase.finished.cause = engine.cause();
      phase.finished.exception = engine.exception();
    }
    phase.paused = status && engine.paused();

    RunReport& report = phase.finished.report;
    report = engine.report();
    report.strategy = strategy;
    report.threads = threads;
    report.idle_s = idle_s;
    for (const Segment& segment : segments)
      report.stages[segment.first + 1].threads = segment.threads;
    if (!segments.empty()) report.stages.front().threads = 1;
    return phase;
  } catch (const std::bad_alloc&) {
    Phase phase;
    phase.finished.status = std::unexpected(out_of_memory());
    phase.finished.cause = out_of_memory();
    phase.refused = !begun;
    return phase;
  }
}

}  // namespace millrace::stream
