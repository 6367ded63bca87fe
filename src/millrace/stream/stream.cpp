#include "millrace/stream/stream.h"

#include "millrace/stream/engine.h"
#include "millrace/stream/pools.h"
#include "millrace/stream/program.h"
#include "millrace/stream/segments.h"
#include "millrace/stream/stealing.h"
#include "millrace/stream/tbb_run.h"

#include <utility>

namespace millrace::stream {
namespace {

Status check(const RunOptions& options, int team_size) {
  if (options.threads < 0 || options.threads > team_size)
    return usage_error("{} threads of a team of {}; give 1 to {}, or 0 for all", options.threads, team_size,
                       team_size);
  if (options.tokens < 0)
    return usage_error("{} tokens; give 1 or more, or 0 to have it chosen", options.tokens);
  if (options.queue_depth < 1) return usage_error("a queue depth of {}; give 1 or more", options.queue_depth);
  if (options.byte_budget < 1) return usage_error("a byte budget of 0; give at least 1");
  return {};
}

// Runs and fills in what the strategy alone knows.
Status run_with(Strategy strategy, Engine& engine, pool::Team& team, int threads, const RunOptions& options,
                const std::vector<Segment>& segments, RunReport& report) {
  switch (strategy) {
  case Strategy::pools:
  case Strategy::oversubscribed:
  case Strategy::collapsed:
    return run_pools(engine, segments, options.queue_depth);
  case Strategy::tbb:
    return run_tbb(engine, threads, static_cast<std::size_t>(report.tokens));
  case Strategy::stealing:
  case Strategy::auto_:
    break;
  }
  const Result<double> idle_s = run_stealing(engine, team, threads);
  if (!idle_s) return std::unexpected(idle_s.error());
  report.idle_s = *idle_s;
  return {};
}

}  // namespace

Stream::Stream(std::unique_ptr<Program> program) : program_(std::move(program)) {}
Stream::~Stream() = default;
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;

Finished Stream::run(pool::Team& team, const RunOptions& options) {
  Finished finished;
  finished.status = check(options, team.size());
  if (!finished.status) {
    finished.cause = finished.status.error();
    return finished;
  }

  const bool chosen = options.strategy == Strategy::auto_;
  const Strategy strategy = chosen ? chosen_strategy() : options.strategy;
  const int threads = options.threads == 0 ? team.size() : options.threads;
  const int stages = static_cast<int>(program_->stages.size());
  RunReport own;
  own.tokens =
      options.tokens != 0 ? options.tokens : default_tokens(strategy, threads, stages, options.queue_depth);
  std::vector<Segment> segments;
  if (strategy == Strategy::pools || strategy == Strategy::oversubscribed || strategy == Strategy::collapsed)
    segments = segments_of(*program_, strategy, threads);

  const bool alone = strategy == Strategy::stealing && threads == 1 && !program_->blocks();
  Engine engine(*program_,
                {.tokens = static_cast<std::uint64_t>(own.tokens),
                 .byte_budget = options.byte_budget,
                 .trace = options.trace,
                 .alone = alone},
                options.stop);
  finished.status = run_with(strategy, engine, team, threads, options, segments, own);
  if (!finished.status) {
    finished.cause = finished.status.error();
  } else {
    finished.status = engine.status();
    if (!finished.status) finished.cause = engine.cause();
  }
  finished.report = engine.report();
  finished.report.strategy = strategy;
  if (chosen) finished.report.strategy_reason = "stealing needs no division of the threads among the stages";
  finished.report.threads = threads;
  finished.report.idle_s = own.idle_s;
  for (const Segment& segment : segments)
    finished.report.stages[segment.first + 1].threads = segment.threads;
  if (!segments.empty()) finished.report.stages.front().threads = 1;
  return finished;
}

}  // namespace millrace::stream
