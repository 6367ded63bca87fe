#include "millrace/stream/stream.h"

#include "millrace/stream/choice/auto_choice.h"
#include "millrace/stream/engine/engine.h"
#include "millrace/stream/item/out_of_memory.h"
#include "millrace/stream/program/program.h"
#include "millrace/stream/strategy/pools.h"
#include "millrace/stream/strategy/segments.h"
#include "millrace/stream/strategy/stealing.h"
#include "millrace/stream/strategy/tbb_run.h"

#include <atomic>
#include <cstdint>
#include <exception>
#include <limits>
#include <new>
#include <utility>
#include <vector>

namespace millrace::stream {
namespace {

Status check(const RunOptions& options, int team_size) {
  if (options.threads < 0 || options.threads > team_size)
    return usage_error("{} threads of a team of {}; give 1 to {}, or 0 for all", options.threads, team_size,
                       team_size);
  if (options.tokens < 0 || options.tokens > most_tokens)
    return usage_error("{} tokens; give 1 to {}, or 0 to have it chosen", options.tokens, most_tokens);
  if (options.queue_depth < 1 || options.queue_depth > most_tokens)
    return usage_error("a queue depth of {}; give 1 to {}", options.queue_depth, most_tokens);
  if (options.byte_budget < 1) return usage_error("a byte budget of 0; give at least 1");
  return {};
}

struct PhasePlan {
  Strategy strategy = Strategy::stealing;  // never auto_
  int threads = 1;
  int tokens = 1;
};

struct Phase {
  Finished finished;
  bool paused = false;   // it ended with its items or its time; the source may have more
  bool refused = false;  // it failed before anything was called: there was no memory or no thread for it
};

// What a phase may do: it ends with the source, or when that has made so many items, or after so long. The
// source's items are numbered from `first_item`.
struct PhaseLimits {
  std::uint64_t first_item = 0;
  std::uint64_t most_items = std::numeric_limits<std::uint64_t>::max();
  double most_seconds = std::numeric_limits<double>::infinity();
};

Phase run_phase(const Program& program, pool::Team& team, const PhasePlan& plan, const RunOptions& options,
                const PhaseLimits& limits) {
  const auto [strategy, threads, tokens] = plan;
  std::vector<Segment> segments;
  if (strategy == Strategy::pools || strategy == Strategy::oversubscribed || strategy == Strategy::collapsed)
    segments = segments_of(program, strategy, threads);
  Engine engine(program,
                {.tokens = static_cast<std::uint64_t>(tokens),
                 .byte_budget = options.byte_budget,
                 .trace = options.trace,
                 .alone = strategy == Strategy::stealing && threads == 1 && !program.blocks(),
                 .first_item = limits.first_item,
                 .most_items = limits.most_items,
                 .most_seconds = limits.most_seconds},
                options.stop);
  Phase phase;
  Status& status = phase.finished.status;
  double idle_s = 0;
  if (!segments.empty()) {
    status = run_pools(engine, segments, options.queue_depth);
  } else if (strategy == Strategy::tbb) {
    status = run_tbb(engine, threads);
  } else if (const Result<double> idle = run_stealing(engine, team, threads)) {
    idle_s = *idle;
  } else {
    status = std::unexpected(idle.error());
  }
  if (!status) {
    phase.finished.cause = status.error();
    phase.refused = engine.items() == 0;
  } else if (status = engine.status(); !status) {
    phase.finished.cause = engine.cause();
  }
  phase.paused = status && engine.paused();

  RunReport& report = phase.finished.report;
  report = engine.report();
  report.strategy = strategy;
  report.threads = threads;
  report.idle_s = idle_s;
  for (const Segment& segment : segments)
    report.stages[segment.first + 1].threads = segment.threads;
  if (!segments.empty()) report.stages.front().threads = 1;
  return phase;
}

// Phase by phase, each by the plan that is best as far as the phases before have told.
Finished run_auto(const Program& program, pool::Team& team, int threads, RunOptions options) {
  // The models need the times.
  if (options.trace == Trace::off) options.trace = Trace::summary;
  AutoChoice choice({.threads = threads, .tokens = options.tokens, .queue_depth = options.queue_depth});
  Finished finished;
  for (std::uint64_t items = 0;;) {
    const AutoChoice::Phase next = choice.next();
    const auto& [strategy, used_threads, tokens] = next.plan;
    Phase phase = run_phase(program, team, {strategy, used_threads, tokens}, options,
                            {.first_item = items, .most_items = next.items, .most_seconds = next.seconds});
    if (phase.refused && choice.tell_refused(phase.finished.status.error(), finished.report.wall_s)) continue;
    finished.status = std::move(phase.finished.status);
    finished.cause = std::move(phase.finished.cause);
    finished.report.append(phase.finished.report);
    if (!phase.paused) break;
    items += phase.finished.report.stages.front().items_in;
    choice.tell(phase.finished.report, finished.report.wall_s);
  }
  finished.report.strategy_reason = choice.reason();
  finished.report.decisions = choice.decisions();
  return finished;
}

Finished run_program(const Program& program, pool::Team& team, const RunOptions& options) {
  const int threads = options.threads == 0 ? team.size() : options.threads;
  if (options.strategy == Strategy::auto_) return run_auto(program, team, threads, options);
  const int stages = static_cast<int>(program.stages.size());
  const int tokens = options.tokens != 0
                         ? options.tokens
                         : default_tokens(options.strategy, threads, stages, options.queue_depth);
  return run_phase(program, team, {options.strategy, threads, tokens}, options, {}).finished;
}

Finished refused(Error error) noexcept {
  Finished finished;
  finished.cause = error_from([&] { return error; });
  finished.status = std::unexpected(std::move(error));
  return finished;
}

// True for one holder at a time.
class Turn {
 public:
  // acquire and release: what the functions of the stages wrote in the run before.
  explicit Turn(std::atomic<bool>& taken)
      : taken_(taken), is_ours_(!taken.exchange(true, std::memory_order_acquire)) {}
  ~Turn() {
    if (is_ours_) taken_.store(false, std::memory_order_release);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  explicit operator bool() const { return is_ours_; }

 private:
  std::atomic<bool>& taken_;
  bool is_ours_;
};

}  // namespace

struct Stream::State {
  std::unique_ptr<const Program> program;
  std::atomic<bool> runs = false;
};

Stream::Stream(std::unique_ptr<const Program> program)
    : state_(std::make_unique<State>(std::move(program))) {}
Stream::~Stream() = default;
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;

Finished Stream::run(pool::Team& team, const RunOptions& options) {
  try {
    if (Status checked = check(options, team.size()); !checked) return refused(std::move(checked.error()));
    const Turn turn(state_->runs);
    if (!turn)
      return refused(
          usage_error("the stream is running already; begin a run when the one before has returned, "
                      "or build a stream for each")
              .error());
    return run_program(*state_->program, team, options);
  } catch (const std::bad_alloc&) {
    return refused(out_of_memory());
  } catch (const std::exception& error) {
    return refused(error_from([&] { return Error{ErrorKind::failure, error.what()}; }));
  }
}

}  // namespace millrace::stream
