#include "millrace/stream/stream.h"

#include "millrace/pool/worker_pool.h"
#include "millrace/stream/choice/auto_choice.h"
#include "millrace/stream/item/out_of_memory.h"
#include "millrace/stream/live_view.h"
#include "millrace/stream/phase.h"
#include "millrace/stream/program/program.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <new>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
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

// Each item that waits for something outside needs a token, so these streams need more. Bytes bound the
// memory.
constexpr int tokens_of_waiting = 64;  // per thread

// Runs phase by phase, each with the best plan known from the earlier phases.
Finished run_auto(const Program& program, pool::Team& team, int threads, RunOptions options, LiveView* live) {
  // The models need the times.
  if (options.trace == Trace::off) options.trace = Trace::summary;
  AutoChoice choice({.threads = threads, .tokens = options.tokens, .queue_depth = options.queue_depth});
  Finished finished;
  for (std::uint64_t items = 0;;) {
    const AutoChoice::Phase next = choice.next();
    const auto& [strategy, used_threads, tokens] = next.plan;
    Phase phase =
        run_phase(program, team, {strategy, used_threads, tokens}, options,
                  {.first_item = items, .most_items = next.items, .most_seconds = next.seconds}, live);
    if (phase.refused && choice.tell_refused(phase.finished.status.error(), finished.report.wall_s)) continue;
    finished.status = std::move(phase.finished.status);
    finished.cause = std::move(phase.finished.cause);
    finished.exception = std::move(phase.finished.exception);
    finished.report.append(phase.finished.report);
    if (!phase.paused) break;
    items += phase.finished.report.stages.front().items_in;
    choice.tell(phase.finished.report, finished.report.wall_s);
    if (live && !choice.decisions().empty()) live->decided(choice.decisions().back());
  }
  finished.report.strategy_reason = choice.reason();
  finished.report.decisions = choice.decisions();
  return finished;
}

Finished run_program(const Program& program, pool::Team& team, RunOptions options, LiveView* live = nullptr) {
  const int threads = options.threads == 0 ? team.size() : options.threads;
  if (options.tokens == 0 && program.waits())
    options.tokens = std::min(tokens_of_waiting * threads, most_tokens);
  if (options.strategy == Strategy::auto_) return run_auto(program, team, threads, std::move(options), live);
  const int stages = static_cast<int>(program.stages.size());
  const int tokens = options.tokens != 0
                         ? options.tokens
                         : default_tokens(options.strategy, threads, stages, options.queue_depth);
  return run_phase(program, team, {options.strategy, threads, tokens}, options, {}, live).finished;
}

Finished refused(Error error) noexcept {
  Finished finished;
  finished.cause = error_from([&] { return error; });
  finished.status = std::unexpected(std::move(error));
  return finished;
}

template <class Call> Finished guarded(const Call& call) noexcept {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return refused(out_of_memory());
  } catch (const std::exception& error) {
    return refused(error_from([&] { return Error{ErrorKind::failure, error.what()}; }));
  }
}

}  // namespace

struct Stream::State {
  explicit State(std::unique_ptr<const Program> of) : program(std::move(of)) {}

  std::unique_ptr<const Program> program;
  std::atomic<bool> runs = false;
};

// The right to run the stream, which also tells the source when a run begins and ends. One holder at a time.
class Stream::Claim {
 public:
  explicit Claim(State& state)
      // acquire and release: the writes of the stages' functions in the previous run.
      : state_(state), is_ours_(!state.runs.exchange(true, std::memory_order_acquire)) {
    if (is_ours_) state_.program->source->run_begins();
  }
  ~Claim() {
    if (!is_ours_) return;
    state_.program->source->run_ended();
    state_.runs.store(false, std::memory_order_release);
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  [[nodiscard]] Status check() const {
    if (is_ours_) return {};
    return usage_error("the stream is running already; begin a run when the one before has returned, "
                       "or build a stream for each");
  }

 private:
  State& state_;
  bool is_ours_;
};

Stream::Stream(std::unique_ptr<const Program> program)
    : state_(std::make_shared<State>(std::move(program))) {}
Stream::~Stream() = default;
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;

Finished Stream::run(pool::Team& team, const RunOptions& options) {
  return guarded([&] {
    if (Status possible = check(options, team.size()); !possible) return refused(std::move(possible.error()));
    const Claim claim(*state_);
    if (Status ours = claim.check(); !ours) return refused(std::move(ours.error()));
    return run_program(*state_->program, team, options);
  });
}

Finished Stream::run(const RunOptions& options) {
  return guarded([&] {
    const Claim claim(*state_);
    if (Status ours = claim.check(); !ours) return refused(std::move(ours.error()));
    return run_claimed(*state_, options, nullptr);
  });
}

Finished Stream::run_claimed(State& state, const RunOptions& options, LiveView* live) {
  return guarded([&] {
    if (options.threads < 0)
      return refused(
          usage_error("{} threads; give 1 or more, or 0 for all that may be used", options.threads).error());
    const auto pool =
        options.threads == 0 ? pool::WorkerPool::create() : pool::WorkerPool::create(options.threads);
    if (!pool) return refused(pool.error());
    pool::PoolTeam team = (*pool)->team();
    if (Status possible = check(options, team.size()); !possible) return refused(std::move(possible.error()));
    return run_program(*state.program, team, options, live);
  });
}

struct Running::State {
  explicit State(std::shared_ptr<Stream::State> of) : stream(std::move(of)), live(*stream->program) {}

  std::shared_ptr<Stream::State> stream;
  LiveView live;
  std::stop_source stop;
  // Set if the options have a stop of their own.
  std::optional<std::stop_callback<std::function<void()>>> passed_on;
  Finished finished;
  // release and acquire: `finished`.
  std::atomic<bool> over = false;
  std::thread thread;
};

Running::Running(std::unique_ptr<State> state) : state_(std::move(state)) {}
Running::Running(Running&&) noexcept = default;

Running::~Running() {
  if (!state_) return;
  stop();
  static_cast<void>(wait());
}

void Running::stop() { state_->stop.request_stop(); }

bool Running::is_over() const { return state_->over.load(std::memory_order_acquire); }

LiveReport Running::live() const { return state_->live.look(); }

const Finished& Running::wait() {
  if (state_->thread.joinable()) state_->thread.join();
  return state_->finished;
}

Result<Running> Stream::start(const RunOptions& options) {
  try {
    // Claimed here, so that the stream counts as running and an inlet takes items from now on.
    auto claim = std::make_unique<Claim>(*state_);
    if (Status ours = claim->check(); !ours) return std::unexpected(std::move(ours.error()));
    auto state = std::make_unique<Running::State>(state_);
    Running::State& running = *state;
    if (options.stop.stop_possible())
      running.passed_on.emplace(options.stop, [&running] { running.stop.request_stop(); });
    RunOptions with_stop = options;
    with_stop.stop = running.stop.get_token();
    running.thread =
        std::thread([&running, with_stop = std::move(with_stop), claim = std::move(claim)]() mutable {
          running.finished = run_claimed(*running.stream, with_stop, &running.live);
          claim.reset();
          running.live.run_ended();
          running.over.store(true, std::memory_order_release);
        });
    return Running(std::move(state));
  } catch (const std::bad_alloc&) {
    return std::unexpected(out_of_memory());
  } catch (const std::system_error& error) {
    return failure("no thread is to be had for the stream: {}", error.code().message());
  }
}

}  // namespace millrace::stream
