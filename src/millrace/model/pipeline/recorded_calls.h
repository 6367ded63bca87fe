// What every item of a recorded run took, call by call, so that a simulation can go through the same items
// again: items that differ, and in what order, are then no matter of chance.
#pragma once

#include "millrace/base/result.h"
#include "millrace/model/pipeline/pipeline.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace millrace::model {

// The calls of one stage for one item of the source, in the order of the recording.
struct StageCalls {
  std::vector<double> seconds;
  std::vector<int> outputs;  // parts that each emits; as many entries as `seconds`
};

struct RecordedCalls {
  std::vector<std::vector<StageCalls>> items;  // [item of the source][stage]
};

// Reads the trace that a run wrote beside its report (Chrome's format, one event a call) for the pipeline of
// that report. `busy_seconds`: of each stage, from the report. Calls too short to have been timed one by one
// get the mean of their stage where every item has one call; else those timed are stretched, so that each
// stage's calls add up to its busy time. Where items split, the parts are divided evenly among the calls.
// Usage error that names the file when the trace is not of that run: stages of other names, an item that no
// event tells of, stages that share a name.
[[nodiscard]] Result<RecordedCalls> parse_recorded_calls(std::string_view json, std::string_view file_name,
                                                         const Pipeline& pipeline, std::int64_t items,
                                                         const std::vector<double>& busy_seconds);

}  // namespace millrace::model
