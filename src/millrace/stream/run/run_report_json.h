// What happened in a run, as JSON.
#pragma once

#include "millrace/stream/run/run_report.h"

#include <nlohmann/json_fwd.hpp>

namespace millrace::stream {

// {"schema": "millrace.stream.run", "version": 1, "strategy", "strategy_reason", "threads", "tokens",
//  "byte_budget", "peak_bytes", "wall_s", "idle_s",
//  "stages": [{"name", "kind", "blocking", "threads", "items_in", "items_out", "busy_s", "starved_s",
//              "blocked_s", "parked_s", "queued_s", "waited_s", "queue_depth", "service_s": as of a
//              Histogram}],
//  "decisions": [{"kind", "at_s", "plan", "item_s", "against_s"}]}
// Times in seconds. Without the events.
[[nodiscard]] nlohmann::json to_json(const RunReport& report);
// Reads what to_json() writes; fields that it does not know are passed over. Failure that names the field.
[[nodiscard]] Result<RunReport> run_report_from_json(const nlohmann::json& json);

// The events in Chrome's trace format (chrome://tracing, ui.perfetto.dev): one row a thread, times in us.
[[nodiscard]] nlohmann::json chrome_trace(const RunReport& report);

}  // namespace millrace::stream
