// Converts the JSON report of a stream run into a pipeline for the models.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/base/numbers/histogram.h"
#include "millrace/model/pipeline/pipeline.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::model {

// The measurements of one stage; the source is the first.
struct RecordedStage {
  std::string name;
  StageKind kind = StageKind::parallel;  // serial for the source
  bool waits = false;
  double items_in = 0;
  double items_out = 0;
  double busy_s = 0;
  Histogram service_s;  // of the calls; empty if only the total time is known
};

// Outputs are items out divided by items in. If fewer items enter a stage than left the one before, the rest
// bypassed it. A stage that never ran takes no time. Usage errors name the stage.
[[nodiscard]] Result<Pipeline> recorded_pipeline(std::span<const RecordedStage> stages);

struct RecordedRun {
  Pipeline pipeline;
  std::int64_t items = 0;  // made by the source
  std::string strategy;    // as in the report
  int threads = 0;         // computing threads
  int tokens = 0;
  double wall_seconds = 0;
  std::vector<double> busy_seconds;  // by stage, summed over all threads
};

// Reads "schema": "millrace.stream.run", or a program's report that contains one as its "run". Takes each
// stage's name, kind, items in and out, busy time and service-time histogram, for recorded_pipeline(). Usage
// errors name the file and field.
[[nodiscard]] Result<RecordedRun> parse_recorded_run(std::string_view json, std::string_view file_name);

// Sets the slowdown of every stage from a second run of the same work, in which `busy_cores` (at least 2)
// cores computed instead of one. A stage that did not get slower has none. Returns a usage error if the runs
// have different stages.
[[nodiscard]] Status set_slowdown(RecordedRun& run, const RecordedRun& beside, int busy_cores);

}  // namespace millrace::model
