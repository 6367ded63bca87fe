#include "millrace/stream/strategy/stealing.h"

#include "millrace/base/error/clock.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/pool/spin.h"
#include "millrace/pool/worker_pool.h"
#include "millrace/stream/item/aligned_memory.h"
#include "millrace/stream/item/token_queue.h"
#include "millrace/stream/strategy/blocking_lanes.h"
#include "millrace/stream/strategy/idle_workers.h"
#include "millrace/stream/strategy/keeper_watch.h"
#include "millrace/stream/strategy/source_pace.h"
#include "millrace/stream/strategy/work_deque.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <utility>
#include <vector>

namespace millrace::stream {
namespace {

class StealingRun {
 public:
  StealingRun(Engine& engine, std::size_t workers)
      : engine_(engine), source_blocking_(engine.program().source_blocking), alone_(workers == 1),
        burst_alone_(engine.program().blocks() || engine.program().waits() ? 64
                                                                           : std::numeric_limits<int>::max()),
        deques_(workers), allowed_(workers), lingers_(workers), idle_s_(workers, 0),
        lanes_(engine, [this](Token* continued, Engine::Context& context) { inject(continued, context); }),
        resumption_(engine, [this](Token* token) { pass_to_all(token); }) {
    for (std::size_t i = 0; i < workers; ++i)
      contexts_.push_back(&engine.add_context());
  }

  [[nodiscard]] Result<double> run(pool::Team& team) {
    const int threads = static_cast<int>(deques_.size());
    const int first = team.size() - threads;
    const Status done =
        team.run_last(threads, [&](int rank) { work(static_cast<std::size_t>(rank - first)); });
    if (!done) return std::unexpected(done.error());
    double idle_s = 0;
    for (const double seconds : idle_s_)
      idle_s += seconds;
    return idle_s;
  }

 private:
  // Which workers may linger depends on where all of them may run, so none does until all have begun. Asking
  // them first would take another round of the sleeping team, which is longer than many streams.
  void tell_where_it_may_run(std::size_t worker) {
    try {
      if (auto cpus = machine::current_thread_affinity()) allowed_[worker] = *cpus;
      // acquire and release: the other workers' writes above.
      if (told_.fetch_add(1, std::memory_order_acq_rel) + 1 < allowed_.size()) return;
      const std::vector<bool> may = pool::may_linger(allowed_);
      for (std::size_t i = 0; i < may.size(); ++i)
        lingers_[i].store(may[i] ? pool::WorkerPool::linger_ns : 0, std::memory_order_relaxed);
    } catch (const std::bad_alloc&) {
      // Then no worker lingers.
    }
  }

  void work(std::size_t worker) {
    Engine::Context& context = *contexts_[worker];
    if (!alone_) tell_where_it_may_run(worker);
    start_blocking_source(context);
    SourcePace pace;
    WorkDeque& own = deques_[worker];
    Helper helper(*this, worker);
    context.helper = &helper;
    bool searching = false;
    bool took_over = false;
    while (!done_.load(std::memory_order_acquire)) {
      // Tokens from outside come first, because the source may never run out of items.
      Token* token = took_over ? nullptr : take_injected();
      if (token)
        pace.interrupt();
      else
        token = from_source(pace, context, std::exchange(took_over, false));
      hand_out(context, own);
      if (!token) token = own.pop();
      if (!token) {
        token = steal(worker);
        pace.interrupt();
      }
      if (!token) {
        if (!searching) idle_.begin_search();
        searching = true;
        took_over = await_work(worker);
        continue;
      }
      if (searching) idle_.end_search([&] { return work_left() || is_unwatched(); });
      searching = false;
      while (token) {
        token = step(token, context, own);
        if (!token) token = own.pop();
      }
    }
    if (searching) idle_.end_search([] { return false; });
  }

  // Returns the token if this worker should step it again at once.
  Token* step(Token* token, Engine::Context& context, WorkDeque& own) {
    if (engine_.stage_of(*token).options.blocking && lanes_.take(token)) return nullptr;
    token = engine_.step(token, context, everything);
    // The token whose turn has come goes first. A serial stage that is idle holds up everything after it,
    // while other workers can do this token's next stage at once.
    if (token && !context.ready.empty() && !engine_.stage_of(*token).options.blocking)
      own.push(std::exchange(token, nullptr));
    hand_out(context, own);
    return token;
  }

  // What a worker does while its call waits for room.
  class Helper final : public Engine::Helper {
   public:
    Helper(StealingRun& run, std::size_t worker) : run_(&run), worker_(worker) {}

    void share(Engine::Context& context) noexcept override { run_->hand_out(context, own()); }
    [[nodiscard]] Token* find(const Token& call) noexcept override {
      const auto may_run = [&](const Token& token) { return is_before_or_below(token, call); };
      while (Token* const token = own().pop()) {
        if (may_run(*token)) return token;
        run_->pass_to_all(token);
      }
      if (Token* const token = run_->take_injected_if(may_run)) return token;
      for (std::size_t i = 1; i < run_->deques_.size(); ++i) {
        Token* const token = run_->deques_[(worker_ + i) % run_->deques_.size()].steal();
        if (token && may_run(*token)) return token;
        if (token) run_->pass_to_all(token);
      }
      return nullptr;
    }
    void run(Token* token, Engine::Context& context) noexcept override {
      while (token)
        token = run_->step(token, context, own());
    }

   private:
    [[nodiscard]] WorkDeque& own() { return run_->deques_[worker_]; }

    StealingRun* run_;
    std::size_t worker_;
  };

  // Called by every worker; the first one starts it. Not earlier, because the team must have agreed to run:
  // the source's items need workers.
  void start_blocking_source(Engine::Context& context) {
    if (!source_blocking_ || is_started_.exchange(true, std::memory_order_relaxed)) return;
    Status started = lanes_.start_source();
    if (started) return;
    static_cast<void>(engine_.gate().try_take());  // no other thread takes it
    engine_.fail_source(std::move(started.error()), context);
    heed_flags(context);
  }

  // The source's next item. Null if it is not available. `taken`: the worker holds the source.
  Token* from_source(SourcePace& pace, Engine::Context& context, bool taken) {
    const bool keeps = context.keeps_source;
    if (source_blocking_ || !(taken || keeps || engine_.gate().try_take())) return nullptr;
    if (taken)
      context.burst = 1;
    else if (!keeps || context.burst <= 1)
      context.burst = alone_ ? burst_alone_ : pace.next_burst();
    Token* const token = engine_.produce(context);
    // From now on others leave the source alone, but one of them must watch.
    if (!keeps && context.keeps_source && !alone_) idle_.announce_work();
    return token;
  }

  // Puts the tokens that became ready on the worker's deque, the best candidate on top.
  void hand_out(Engine::Context& context, WorkDeque& own) {
    if (!context.ready.empty()) {
      context.ready.reverse();
      while (Token* const token = context.ready.pop_front())
        own.push(token);
      // If items are not worth sharing, neither are their parts.
      if (!context.keeps_source) idle_.announce_work();
    }
    heed_flags(context);
  }

  void heed_flags(Engine::Context& context) {
    if (context.source_opened) {
      context.source_opened = false;
      if (source_blocking_)
        lanes_.wake_source();
      else
        idle_.announce_work();
    }
    if (context.drained) {
      context.drained = false;
      done_.store(true, std::memory_order_seq_cst);
      idle_.wake_all();
    }
  }

  // Gives the tokens made ready by a blocking stage or source to all workers.
  void inject(Token* continued, Engine::Context& context) {
    const auto pass_on = [&](Token* token) {
      if (engine_.stage_of(*token).options.blocking && lanes_.take(token)) return;
      pass_to_all(token);
    };
    while (Token* const token = context.ready.pop_front())
      pass_on(token);
    if (continued) pass_on(continued);
    heed_flags(context);
  }

  // Any thread may call this. Does not wait.
  void pass_to_all(Token* token) {
    injected_.push(token);
    // seq_cst: before the check for sleepers.
    injected_count_.fetch_add(1, std::memory_order_seq_cst);
    idle_.announce_work();
  }

  Token* take_injected() {
    // relaxed: a stale value costs one round of searching for work.
    if (injected_count_.load(std::memory_order_relaxed) == 0) return nullptr;
    Token* const token = injected_.try_pop();
    if (token) injected_count_.fetch_sub(1, std::memory_order_relaxed);
    return token;
  }

  template <class Matches> Token* take_injected_if(const Matches& matches) {
    if (injected_count_.load(std::memory_order_relaxed) == 0) return nullptr;
    Token* const token = injected_.try_pop_if(matches);
    if (token) injected_count_.fetch_sub(1, std::memory_order_relaxed);
    return token;
  }

  Token* steal(std::size_t thief) {
    if (Token* const token = take_injected()) return token;
    for (std::size_t i = 1; i < deques_.size(); ++i)
      if (Token* const token = deques_[(thief + i) % deques_.size()].steal()) return token;
    return nullptr;
  }

  // Everything that announce_work() covers.
  [[nodiscard]] bool work_left() const {
    if (done_.load(std::memory_order_seq_cst)) return true;
    if (!source_blocking_ && engine_.gate().is_open()) return true;
    if (injected_count_.load(std::memory_order_seq_cst) != 0) return true;
    for (const WorkDeque& deque : deques_)
      if (!deque.looks_empty()) return true;
    return false;
  }

  // The worker searches. Returns when there may be work, still searching. True: it has taken over the source.
  bool await_work(std::size_t worker) {
    // A worker that runs alone rarely has anything to wait for, and a small stream would end before the
    // query.
    if (alone_ && told_.load(std::memory_order_relaxed) == 0) tell_where_it_may_run(worker);
    bool took_over = false;
    idle_s_[worker] += engine_.timed([&] {
      while (!took_over &&
             !pool::spin_until([&] { return work_left(); }, lingers_[worker].load(std::memory_order_relaxed)))
        took_over = sleep();
    });
    return took_over;
  }

  // Sleeps until woken. If the source is kept and unwatched, this worker watches it. True if it has taken it
  // over.
  //
  // A kept source does not stay unwatched while any worker sleeps. The worker that starts to keep it
  // announces this like work. So a sleeper wakes and gets here, or a worker already on its way to sleep sees
  // it. A watcher that finds work instead wakes another worker (end_search).
  bool sleep() {
    SourceGate& gate = engine_.gate();
    bool watches = false;
    const auto patience = [&] {
      if (!watches && is_unwatched() && !is_watched_.exchange(true, std::memory_order_seq_cst)) {
        watches = true;
        watch_.begin(now_ns(), gate.issued());
      }
      return watches ? watch_.patience() : IdleWorkers::forever;
    };
    bool took_over = false;
    while (!idle_.sleep([&] { return work_left(); }, patience)) {
      took_over = watch_.finds_it_slow(now_ns(), gate.issued()) && gate.take_over();
      if (took_over || !gate.is_kept()) break;
    }
    // seq_cst: before the check of a worker that goes to sleep; also publishes the watch.
    if (watches) is_watched_.store(false, std::memory_order_seq_cst);
    return took_over;
  }

  [[nodiscard]] bool is_unwatched() const {
    return !alone_ && engine_.gate().is_kept() && !is_watched_.load(std::memory_order_seq_cst);
  }

  static constexpr std::uint32_t everything = std::numeric_limits<std::uint32_t>::max();

  Engine& engine_;
  const bool source_blocking_;
  const bool alone_;  // no other workers, but outside threads may return tokens
  const int burst_alone_;
  std::vector<Engine::Context*> contexts_;  // by worker, like the following members
  std::vector<WorkDeque, AlignedAllocator<WorkDeque>> deques_;
  std::vector<machine::CpuSet> allowed_;
  std::atomic<std::size_t> told_ = 0;
  std::vector<std::atomic<std::int64_t>> lingers_;  // ns; relaxed: a hint
  std::vector<double> idle_s_;
  IdleWorkers idle_;
  // Whether a worker watches the keeper of the source. That worker owns watch_.
  std::atomic<bool> is_watched_ = false;
  KeeperWatch watch_;
  std::atomic<bool> is_started_ = false;  // the blocking source; relaxed: publishes nothing
  TokenQueue injected_;
  std::atomic<std::int64_t> injected_count_ = 0;
  std::atomic<bool> done_ = false;
  // Declared last, because its threads use all of the above.
  BlockingLanes lanes_;
  Engine::Resumption resumption_;
};

}  // namespace

Result<double> run_stealing(Engine& engine, pool::Team& team, int threads) {
  StealingRun run(engine, static_cast<std::size_t>(threads));
  return run.run(team);
}

}  // namespace millrace::stream
