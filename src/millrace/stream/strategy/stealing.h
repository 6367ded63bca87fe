// The strategy `stealing`: tasks carry an item through the stages, on the workers of a team.
#pragma once

#include "millrace/pool/team.h"
#include "millrace/stream/engine/engine.h"

namespace millrace::stream {

// A worker follows its token as far as possible, then takes the last token that it made ready, then asks the
// source for another item, and finally steals. A worker that finds nothing lingers for at most
// pool::WorkerPool::linger_ns and then sleeps. Returns the seconds that workers were without work, if traced.
//
// Runs on the last `threads` members of `team`. Blocking stages run on threads of their own.
[[nodiscard]] Result<double> run_stealing(Engine& engine, pool::Team& team, int threads);

}  // namespace millrace::stream
