// Segments: which stages the threads of a pool serve, and how many threads each pool has.
#pragma once

#include "millrace/stream/program/program.h"
#include "millrace/stream/run/run_options.h"

#include <cstddef>
#include <vector>

namespace millrace::stream {

// Consecutive stages that one pool of threads takes an item through.
struct Segment {
  std::size_t first = 0;
  std::size_t last = 0;  // inclusive
  int threads = 1;
};

// Pure. `strategy` is pools, oversubscribed or collapsed; threads >= 1. Serial stages get one thread,
// blocking parallel stages their blocking_threads. What is left, the computing parallel segments, share
// `threads` evenly, the first getting more, at least one each; oversubscribed gives each all `threads`.
[[nodiscard]] std::vector<Segment> segments_of(const Program& program, Strategy strategy, int threads);

}  // namespace millrace::stream
