// RunOptions: the strategy, threads and memory limits of a run.
#pragma once

#include "millrace/base/error/export.h"
#include "millrace/base/error/result.h"

#include <cstddef>
#include <span>
#include <stop_token>
#include <string_view>

namespace millrace::stream {

// The structures of the analytical pipeline paper, and two more.
enum class Strategy {
  pools,           // threads for each stage, bounded queues between; the parallel stages share `threads`
  oversubscribed,  // pools with `threads` threads for each parallel stage
  collapsed,       // pools with adjacent parallel stages as one
  stealing,        // a task carries an item through the stages; the workers of the team steal from each other
  tbb,    // oneTBB: parallel_pipeline for 1-to-1 stages and a source without sizes, else its flow graph
  auto_,  // the models choose during the run, and measurements confirm; see AutoChoice
};

// "pools", "oversubscribed", "collapsed", "stealing", "tbb", "auto": for command lines and reports.
[[nodiscard]] MILLRACE_EXPORT std::string_view strategy_name(Strategy strategy);
// The inverse. Returns a usage error that lists the names.
[[nodiscard]] MILLRACE_EXPORT Result<Strategy> parse_strategy(std::string_view name);
// In declaration order, so auto_ is last.
[[nodiscard]] MILLRACE_EXPORT std::span<const Strategy> all_strategies();

// What to measure in addition to item counts, which are always kept.
enum class Trace {
  off,
  summary,  // the times of RunReport; costs less than 2 % of the run
  events,   // summary, plus the calls for chrome_trace()
};

// In-order stages keep 8 to 16 bytes for each token, whether it is used or not.
inline constexpr int most_tokens = 1 << 20;

struct RunOptions {
  Strategy strategy = Strategy::auto_;
  // Number of computing threads, including the calling one: 1 to the size of the team, or 0 for that size.
  // `pools` and its variants create their own threads. For `pools` this is the sum over the parallel stages,
  // each of which has at least one. Serial stages and the source have one more each.
  int threads = 0;
  // Maximum number of source items in flight: 1 to most_tokens. 0 derives it from the threads (see
  // default_tokens, AutoChoice), or uses 64 per thread if a stage waits by continuations, because this also
  // limits how many can wait at once. All items split from a source item count as that one item.
  int tokens = 0;
  // Bytes of source items in flight above which the source waits. So at most one item more than this is in
  // flight, and a single item is always allowed, however large. Sizes come from the source's `bytes`; without
  // it, every item counts sizeof(T). Many outputs of a single call count too, each with the size of its type:
  // the call waits inside emit() for room (see Output).
  std::size_t byte_budget = std::size_t{128} << 20;
  // Capacity of each queue of `pools`, `oversubscribed` and `collapsed`: 1 to most_tokens.
  int queue_depth = 20;
  // `auto` measures at least a summary, because it needs one itself.
  Trace trace = Trace::off;
  // A stop ends the run when the calls under way have returned. The run then fails as interrupted.
  std::stop_token stop;
};

// 16 per thread for `stealing`: bytes bound the memory, and if the kernel preempts the thread with the oldest
// item, the others can go on only while tokens remain. 4 per thread for `tbb`. For the others, as many as the
// queues and the threads that serve them can hold. Never more than most_tokens.
[[nodiscard]] MILLRACE_EXPORT int default_tokens(Strategy strategy, int threads, int stages, int queue_depth);

}  // namespace millrace::stream
