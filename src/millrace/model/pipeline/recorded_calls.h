// RecordedCalls: the duration of every call of a recorded run. A simulation can replay the same items, so
// their differences and their order are not left to chance.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/model/pipeline/pipeline.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace millrace::model {

// The calls of one stage for one source item, in recorded order.
struct StageCalls {
  std::vector<double> seconds;
  std::vector<int> outputs;  // parts that each call emits; as many entries as `seconds`
};

struct RecordedCalls {
  std::vector<std::vector<StageCalls>> items;  // [source item][stage]
};

// Reads the trace that a run wrote next to its report (Chrome's format, one event per call), for the pipeline
// of that report. `busy_seconds`: for each stage, from the report. Calls too short to have been timed
// individually get the mean of their stage if every item has one call. Otherwise the timed calls are
// stretched so that each stage's calls add up to its busy time. If items split, the parts are divided evenly
// among the calls.
//
// Returns a usage error that names the file if the trace does not belong to that run: different stage names,
// an item without events, or stages that share a name.
[[nodiscard]] Result<RecordedCalls> parse_recorded_calls(std::string_view json, std::string_view file_name,
                                                         const Pipeline& pipeline, std::int64_t items,
                                                         const std::vector<double>& busy_seconds);

}  // namespace millrace::model
