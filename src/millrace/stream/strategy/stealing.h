// The strategy `stealing`: tasks that carry an item through the stages, on the workers of a team.
#pragma once

#include "millrace/pool/team.h"
#include "millrace/stream/engine/engine.h"

namespace millrace::stream {

// A worker goes on with its token as far as it gets, then with the last one that became ready by its doing,
// then it asks the source for another, and at last it steals. A worker that finds nothing lingers for at most
// pool::WorkerPool::linger_ns and sleeps. Returns the seconds that workers were without work, if traced.
//
// Runs on the last `threads` members of `team`; blocking stages on threads of their own.
[[nodiscard]] Result<double> run_stealing(Engine& engine, pool::Team& team, int threads);

}  // namespace millrace::stream
