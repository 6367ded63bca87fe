// A pipeline as the models see it: stages in a line, and what one item costs in each.
#pragma once

#include "millrace/base/export.h"
#include "millrace/base/result.h"
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

// "serial", "ordered" or "parallel", as descriptions write it.
[[nodiscard]] MILLRACE_EXPORT std::string_view to_string(StageKind kind);

struct Stage {
  std::string name;
  StageKind kind = StageKind::parallel;
  ServiceTime service = ServiceTime::constant(0);  // of one item on a machine that is otherwise idle
  // Mean number of items it emits for one that it takes, >= 0: 1 passes items on, 0.5 drops every second. A
  // fraction is emitted at random: 2.25 is 2 items and, in one case of four, a third.
  double outputs = 1;
  // Share of the arriving items that it works on, 0 < visits <= 1; the others bypass it.
  double visits = 1;
  // How many waiting items a thread of its pool takes from the queue at once, >= 1; it emits them together.
  int batch = 1;
  // Its time is waiting for a device: it occupies a thread but no core.
  bool waits = false;
  // By how much a service takes longer for every further core that is busy (memory bandwidth, clock rate):
  // on k busy cores it takes 1 + slowdown * (k - 1) times as long. 0 to 1.
  double slowdown = 0;

  [[nodiscard]] double slowdown_factor(double busy_cores) const {
    return 1 + slowdown * (busy_cores > 1 ? busy_cores - 1 : 0);
  }
  [[nodiscard]] bool is_parallel() const { return kind == StageKind::parallel; }
};

struct RecordedCalls;

struct Pipeline {
  std::vector<Stage> stages;
  // The calls of a recorded run, if there are any: a simulation goes through these items one by one, again
  // from the first when it needs more, and draws nothing at random but whom a thread steals from. The stages'
  // own numbers then serve the formulas.
  std::shared_ptr<const RecordedCalls> recorded = nullptr;
};

// Most stages that a pipeline may have.
inline constexpr std::size_t max_stages = 1000;

// Usage error that names the first thing impossible: no stage, too many, a first stage that is parallel or
// takes batches or bypasses (it makes the items, one after another), a number outside its range, no work.
[[nodiscard]] MILLRACE_EXPORT Status check(const Pipeline& pipeline);

// Seconds of work that one item at the source causes in stage i, on a machine otherwise idle: mean service
// time times the items that reach it and do not bypass it.
[[nodiscard]] MILLRACE_EXPORT std::vector<double> demands(const Pipeline& pipeline);
// The sum of them: the sequential time of one item.
[[nodiscard]] MILLRACE_EXPORT double total_demand(const Pipeline& pipeline);
// Calls of all stages that one item at the source causes, its own parts' included.
[[nodiscard]] MILLRACE_EXPORT double calls_per_item(const Pipeline& pipeline);
// Index of the serial or ordered stage with the greatest demand; -1 where all are parallel.
[[nodiscard]] MILLRACE_EXPORT int slowest_serial_stage(const Pipeline& pipeline);

}  // namespace millrace::model
