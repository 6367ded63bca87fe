// The strategy `tbb`: the stages on oneTBB.
#pragma once

#include "millrace/base/result.h"
#include "millrace/stream/engine/engine.h"

namespace millrace::stream {

// Whether oneTBB's parallel_pipeline can run the program: every stage makes one output of one item, none of
// them waits by a continuation, and the
// source gives no sizes, since parallel_pipeline bounds the number of items alone (where all have the same
// size that does for the bytes, too). Otherwise the flow graph does.
[[nodiscard]] bool fits_parallel_pipeline(const Program& program);

// In an arena of `threads`, the calling thread among them; blocking stages run there too, since oneTBB has no
// threads for them. Failure when oneTBB throws.
[[nodiscard]] Status run_tbb(Engine& engine, int threads);

}  // namespace millrace::stream
