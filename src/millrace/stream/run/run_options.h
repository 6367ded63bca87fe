// How a stream is run: strategy, threads, and what it may hold in memory.
#pragma once

#include "millrace/base/export.h"
#include "millrace/base/result.h"

#include <cstddef>
#include <span>
#include <stop_token>
#include <string_view>

namespace millrace::stream {

// The structures of the analytical pipeline paper, and two more.
enum class Strategy {
  pools,  // threads for each stage, bounded queues between; `threads` shared among the parallel stages
  oversubscribed,  // pools with `threads` threads for each parallel stage
  collapsed,       // pools with adjacent parallel stages as one
  stealing,        // a task carries an item through the stages; the workers of the team steal from each other
  tbb,    // oneTBB: parallel_pipeline for 1-to-1 stages and a source without sizes, else its flow graph
  auto_,  // the models choose while the stream runs, and measurements confirm; see AutoChoice
};

// "pools", "oversubscribed", "collapsed", "stealing", "tbb", "auto": for command lines and reports.
[[nodiscard]] MILLRACE_EXPORT std::string_view strategy_name(Strategy strategy);
// The reverse; usage error that lists the names.
[[nodiscard]] MILLRACE_EXPORT Result<Strategy> parse_strategy(std::string_view name);
// In the order of declaration, auto_ last.
[[nodiscard]] MILLRACE_EXPORT std::span<const Strategy> all_strategies();

// What is measured besides the counts of items, which always are.
enum class Trace {
  off,
  summary,  // the times of RunReport, under 2 % of the run
  events,   // summary, and the calls to be drawn by chrome_trace()
};

// What stages in order keep for each token is 8 to 16 bytes, whether it is used or not.
inline constexpr int most_tokens = 1 << 20;

struct RunOptions {
  Strategy strategy = Strategy::auto_;
  // How many threads compute, the calling one included; 1 to the size of the team, 0 for that size. `pools`
  // and its kin make threads of their own: for `pools` it is the sum over the parallel stages (each has at
  // least one), serial stages and the source have one each besides.
  int threads = 0;
  // Items of the source in flight at most: 1 to most_tokens; 0 for a number that follows from the threads
  // (see default_tokens, AutoChoice), or, where a stage waits by continuations, of 64 a thread: so many wait
  // at once at most. What a split makes of an item counts as that item.
  int tokens = 0;
  // Bytes of the source's items in flight: when there are as many or more, the source waits. So at most one
  // item more than this is in flight, and one item always may be, however large. Sizes come from the source's
  // `bytes`; without it every item counts sizeof(T). What one call emits counts as well where it is much; a
  // call that emits more than this, and more than 256 MiB, fails.
  std::size_t byte_budget = std::size_t{128} << 20;
  // Capacity of each queue of `pools`, `oversubscribed` and `collapsed`: 1 to most_tokens.
  int queue_depth = 20;
  // `auto` measures at least a summary, which it needs itself.
  Trace trace = Trace::off;
  // A stop ends the run as soon as the calls under way have returned; the run then fails as interrupted.
  std::stop_token stop;
};

// 16 a thread for `stealing`: bytes bound the memory, and while the kernel has preempted the thread with the
// oldest item, the others can go on as far as there are tokens. 4 a thread for `tbb`. For the others what the
// queues and the threads behind them can hold. Never more than most_tokens.
[[nodiscard]] MILLRACE_EXPORT int default_tokens(Strategy strategy, int threads, int stages, int queue_depth);

}  // namespace millrace::stream
