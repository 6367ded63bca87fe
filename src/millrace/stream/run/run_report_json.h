// Converts run reports to and from JSON.
#pragma once

#include "millrace/stream/run/run_report.h"

#include <nlohmann/json_fwd.hpp>

namespace millrace::stream {

// {"schema": "millrace.stream.run", "version": 1, "strategy", "strategy_reason", "threads", "tokens",
//  "byte_budget", "peak_bytes", "wall_s", "idle_s",
//  "stages": [{"name", "kind", "blocking", "threads", "items_in", "items_out", "busy_s", "starved_s",
//              "blocked_s", "parked_s", "queued_s", "waited_s", "queue_depth", "service_s": like any
//              Histogram}],
//  "decisions": [{"kind", "at_s", "plan", "item_s", "against_s"}]}
// Times in seconds. Events are omitted.
[[nodiscard]] nlohmann::json to_json(const RunReport& report);
// Reads the output of to_json() and ignores unknown fields. On failure, the error names the field.
[[nodiscard]] Result<RunReport> run_report_from_json(const nlohmann::json& json);

// The events in Chrome's trace format (chrome://tracing, ui.perfetto.dev): one row per thread, times in us.
[[nodiscard]] nlohmann::json chrome_trace(const RunReport& report);

}  // namespace millrace::stream
