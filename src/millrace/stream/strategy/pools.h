// The strategies `pools`, `oversubscribed` and `collapsed`: threads for each stage and bounded queues between
// them, like hand-built pipelines.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/stream/engine/engine.h"
#include "millrace/stream/strategy/segments.h"

#include <vector>

namespace millrace::stream {

// Serves the source with the calling thread, and each segment with its own threads. queue_depth >= 1. Fails
// if the system refuses a thread; then no stage has been called.
[[nodiscard]] Status run_pools(Engine& engine, const std::vector<Segment>& segments, int queue_depth);

}  // namespace millrace::stream
