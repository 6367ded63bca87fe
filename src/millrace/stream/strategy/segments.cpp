#include "millrace/stream/strategy/segments.h"

#include "millrace/pool/contiguous_part.h"

#include <algorithm>

namespace millrace::stream {
namespace {

// The pools whose thread count can be chosen.
bool computes_in_parallel(const Stage& stage) {
  return stage.kind == Kind::parallel && !stage.options.blocking;
}

}  // namespace

std::vector<Segment> segments_of(const Program& program, Strategy strategy, int threads) {
  const auto& stages = program.stages;
  std::vector<Segment> segments;
  int parallel = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const bool joins = strategy == Strategy::collapsed && i > 0 && computes_in_parallel(stages[i]) &&
                       computes_in_parallel(stages[i - 1]);
    if (joins) {
      segments.back().last = i;
      continue;
    }
    segments.push_back({i, i, 1});
    if (computes_in_parallel(stages[i])) ++parallel;
    if (stages[i].kind == Kind::parallel) segments.back().threads = stages[i].options.blocking_threads;
  }
  int index = 0;
  for (Segment& segment : segments) {
    if (!computes_in_parallel(stages[segment.first])) continue;
    const pool::Part share = pool::contiguous_part(threads, parallel, index++);
    segment.threads = strategy == Strategy::oversubscribed
                          ? threads
                          : std::max(1, static_cast<int>(share.end - share.begin));
  }
  return segments;
}

}  // namespace millrace::stream
