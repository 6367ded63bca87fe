// A run of the stream runtime, as its report in JSON records it, turned into a pipeline to model.
#pragma once

#include "millrace/base/histogram.h"
#include "millrace/base/result.h"
#include "millrace/model/pipeline/pipeline.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::model {

// What a run measured of one stage; the source is the first.
struct RecordedStage {
  std::string name;
  StageKind kind = StageKind::parallel;  // of the source it is taken for serial
  bool waits = false;
  double items_in = 0;
  double items_out = 0;
  double busy_s = 0;
  Histogram service_s;  // of the calls; empty where only the time in all is known
};

// Outputs are items out by items in; bypasses show as fewer items in than came out of the stage before. A
// stage that never ran takes no time. Usage error that names the stage.
[[nodiscard]] Result<Pipeline> recorded_pipeline(std::span<const RecordedStage> stages);

struct RecordedRun {
  Pipeline pipeline;
  std::int64_t items = 0;  // that the source made
  std::string strategy;    // as the report names it
  int threads = 0;         // that computed
  int tokens = 0;
  double wall_seconds = 0;
  std::vector<double> busy_seconds;  // in each stage, of all threads
};

// Reads "schema": "millrace.stream.run", or the report of a program that has one as its "run": of each stage
// its name, kind, items in and out, busy time and histogram of service times, for recorded_pipeline(). Usage
// error that names file and field.
[[nodiscard]] Result<RecordedRun> parse_recorded_run(std::string_view json, std::string_view file_name);

// Sets the slowdown of every stage by how much longer its calls took in a run of the same work during which
// `busy_cores` (at least 2) cores computed instead of one; a stage that took less gets none. Usage error when
// the two have not the same stages.
[[nodiscard]] Status set_slowdown(RecordedRun& run, const RecordedRun& beside, int busy_cores);

}  // namespace millrace::model
