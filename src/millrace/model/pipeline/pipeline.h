// Pipeline: the models' view of a pipeline, as a line of stages with the cost of an item in each.
#pragma once

#include "millrace/base/error/export.h"
#include "millrace/base/error/result.h"
#include "millrace/model/pipeline/service_time.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::model {

enum class StageKind {
  serial,    // one item at a time, in any order
  ordered,   // one item at a time, in the order of the stream
  parallel,  // any number of items at a time
};

// "serial", "ordered" or "parallel", as in pipeline descriptions.
[[nodiscard]] MILLRACE_EXPORT std::string_view to_string(StageKind kind);

struct Stage {
  std::string name;
  StageKind kind = StageKind::parallel;
  ServiceTime service = ServiceTime::constant(0);  // of one item on an otherwise idle machine
  // Mean number of items emitted per item taken, >= 0: 1 passes items on, 0.5 drops every second. A fraction
  // is emitted at random: 2.25 emits 2 items and, in a quarter of the cases, a third.
  double outputs = 1;
  // Share of the arriving items that the stage processes, 0 < visits <= 1. The others bypass it.
  double visits = 1;
  // How many waiting items a thread of its pool takes from the queue at once, >= 1. It emits them together.
  int batch = 1;
  // The stage waits for a device, so it occupies a thread but no core.
  bool waits = false;
  // Relative increase of the service time for every further busy core (memory bandwidth, clock rate). With k
  // busy cores, a service takes 1 + slowdown * (k - 1) times as long. 0 to 1.
  double slowdown = 0;

  [[nodiscard]] double slowdown_factor(double busy_cores) const {
    return 1 + slowdown * (busy_cores > 1 ? busy_cores - 1 : 0);
  }
  [[nodiscard]] bool is_parallel() const { return kind == StageKind::parallel; }
};

struct RecordedCalls;

struct Pipeline {
  std::vector<Stage> stages;
  // The calls of a recorded run, if any. A simulation then replays these items in order and starts again at
  // the first if it needs more. The only random choice left is the victim of a steal. The stages' own numbers
  // are used by the formulas.
  std::shared_ptr<const RecordedCalls> recorded = nullptr;
};

// Maximum number of stages in a pipeline.
inline constexpr std::size_t max_stages = 1000;

// Returns a usage error that names the first problem: no stage, too many stages, a number out of range, no
// work, or a first stage that is parallel, takes batches or is bypassed. The first stage makes the items one
// by one.
[[nodiscard]] MILLRACE_EXPORT Status check(const Pipeline& pipeline);

// Seconds of work that one source item causes in stage i on an otherwise idle machine: the mean service time
// times the number of items that reach the stage and do not bypass it.
[[nodiscard]] MILLRACE_EXPORT std::vector<double> demands(const Pipeline& pipeline);
// Their sum: the sequential time of one item.
[[nodiscard]] MILLRACE_EXPORT double total_demand(const Pipeline& pipeline);
// Calls of all stages caused by one source item, including the parts it is split into.
[[nodiscard]] MILLRACE_EXPORT double calls_per_item(const Pipeline& pipeline);
// Index of the serial or ordered stage with the greatest demand. -1 if all are parallel.
[[nodiscard]] MILLRACE_EXPORT int slowest_serial_stage(const Pipeline& pipeline);

}  // namespace millrace::model
