// The strategy `tbb`: the stages on oneTBB.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/stream/engine/engine.h"

namespace millrace::stream {

// Whether oneTBB's parallel_pipeline can run the program. Every stage must make one output per item without
// waiting for a continuation. The source must give no sizes, because parallel_pipeline bounds only the number
// of items. (If all items have the same size, this bounds the bytes too.) Otherwise the flow graph is used.
[[nodiscard]] bool fits_parallel_pipeline(const Program& program);

// Runs in an arena of `threads`, including the calling thread. Blocking stages run there too, because oneTBB
// has no threads for them. Fails if oneTBB throws.
[[nodiscard]] Status run_tbb(Engine& engine, int threads);

}  // namespace millrace::stream
