// The strategies `pools`, `oversubscribed` and `collapsed`: threads for each stage, bounded queues between
// them, as pipelines are built by hand.
#pragma once

#include "millrace/base/result.h"
#include "millrace/stream/engine/engine.h"
#include "millrace/stream/strategy/segments.h"

#include <vector>

namespace millrace::stream {

// Serves the source with the calling thread and each segment with threads of its own. queue_depth >= 1.
// Failure when the system refuses a thread; then no stage has been called.
[[nodiscard]] Status run_pools(Engine& engine, const std::vector<Segment>& segments, int queue_depth);

}  // namespace millrace::stream
