// Segments: the stages that each pool of threads serves, and the number of threads per pool.
#pragma once

#include "millrace/stream/program/program.h"
#include "millrace/stream/run/run_options.h"

#include <cstddef>
#include <vector>

namespace millrace::stream {

// Consecutive stages through which one pool of threads takes an item.
struct Segment {
  std::size_t first = 0;
  std::size_t last = 0;  // inclusive
  int threads = 1;
};

// Pure. `strategy` is pools, oversubscribed or collapsed; threads >= 1. Serial stages get one thread,
// blocking parallel stages their blocking_threads. The remaining parallel segments share `threads` evenly.
// Earlier ones get the remainder, and each gets at least one. With oversubscribed, each gets all `threads`.
[[nodiscard]] std::vector<Segment> segments_of(const Program& program, Strategy strategy, int threads);

}  // namespace millrace::stream
