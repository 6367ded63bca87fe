#include "millrace/stream/stream.h"

#include "millrace/stream/choice/auto_choice.h"
#include "millrace/stream/item/out_of_memory.h"
#include "millrace/stream/phase.h"
#include "millrace/stream/program/program.h"

#include <atomic>
#include <cstdint>
#include <exception>
#include <new>
#include <utility>

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
