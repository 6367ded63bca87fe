#include "millrace/stream/strategy/stealing.h"

#include "millrace/base/clock.h"
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
  // Who may linger follows from where all of them may run, so nobody does before all have begun. To ask them
  // first would be a round of the team more, whose members sleep: longer than many a stream takes.
  void tell_where_it_may_run(std::size_t worker) {
    try {
      if (auto cpus = machine::current_thread_affinity()) allowed_[worker] = *cpus;
      // acquire and release: what the others wrote above.
      if (told_.fetch_add(1, std::memory_order_acq_rel) + 1 < allowed_.size()) return;
      const std::vector<bool> may = pool::may_linger(allowed_);
      for (std::size_t i = 0; i < may.size(); ++i)
        lingers_[i].store(may[i] ? pool::WorkerPool::linger_ns : 0, std::memory_order_relaxed);
    } catch (const std::bad_alloc&) {
      // Nobody lingers.
    }
  }

  void work(std::size_t worker) {
    Engine::Context& context = *contexts_[worker];
    if (!alone_) tell_where_it_may_run(worker);
    start_blocking_source(context);
    SourcePace pace;
    WorkDeque& own = deques_[worker];
    bool searching = false;
    bool took_over = false;
    while (!done_.load(std::memory_order_acquire)) {
      // What comes back from outside first: the source may have something for ever.
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
        if (engine_.stage_of(*token).options.blocking && lanes_.take(token)) {
          token = nullptr;
        } else {
          token = engine_.step(token, context, everything);
          // Whoever's turn it has become goes first: a serial stage that stands still holds up all behind it,
          // while this token's next stage can be done by others at once.
          if (token && !context.ready.empty() && !engine_.stage_of(*token).options.blocking)
            own.push(std::exchange(token, nullptr));
          hand_out(context, own);
        }
        if (!token) token = own.pop();
      }
    }
    if (searching) idle_.end_search([] { return false; });
  }

  // By the worker that comes first: not before the team has agreed to run, since what the source makes has to
  // be worked on.
  void start_blocking_source(Engine::Context& context) {
    if (!source_blocking_ || is_started_.exchange(true, std::memory_order_relaxed)) return;
    Status started = lanes_.start_source();
    if (started) return;
    static_cast<void>(engine_.gate().try_take());  // nobody else does
    engine_.fail_source(std::move(started.error()), context);
    heed_flags(context);
  }

  // The next item of the source; null if it is not to be had. `taken`: the worker has the source.
  Token* from_source(SourcePace& pace, Engine::Context& context, bool taken) {
    const bool keeps = context.keeps_source;
    if (source_blocking_ || !(taken || keeps || engine_.gate().try_take())) return nullptr;
    if (taken)
      context.burst = 1;
    else if (!keeps || context.burst <= 1)
      context.burst = alone_ ? burst_alone_ : pace.next_burst();
    Token* const token = engine_.produce(context);
    // Others leave the source alone from now on, but one is to watch.
    if (!keeps && context.keeps_source && !alone_) idle_.announce_work();
    return token;
  }

  // What has become ready goes to the worker's deque, the best to go on with on top.
  void hand_out(Engine::Context& context, WorkDeque& own) {
    if (!context.ready.empty()) {
      context.ready.reverse();
      while (Token* const token = context.ready.pop_front())
        own.push(token);
      // Where items are not worth sharing, neither are their parts.
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

  // What a blocking stage or source has made ready goes to all workers.
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

  // By any thread; does not wait.
  void pass_to_all(Token* token) {
    injected_.push(token);
    // seq_cst: before the look for sleepers.
    injected_count_.fetch_add(1, std::memory_order_seq_cst);
    idle_.announce_work();
  }

  Token* take_injected() {
    // relaxed: a stale answer costs one round of looking for work.
    if (injected_count_.load(std::memory_order_relaxed) == 0) return nullptr;
    Token* const token = injected_.try_pop();
    if (token) injected_count_.fetch_sub(1, std::memory_order_relaxed);
    return token;
  }

  Token* steal(std::size_t thief) {
    if (Token* const token = take_injected()) return token;
    for (std::size_t i = 1; i < deques_.size(); ++i)
      if (Token* const token = deques_[(thief + i) % deques_.size()].steal()) return token;
    return nullptr;
  }

  // Everything that announce_work() is called for.
  [[nodiscard]] bool work_left() const {
    if (done_.load(std::memory_order_seq_cst)) return true;
    if (!source_blocking_ && engine_.gate().is_open()) return true;
    if (injected_count_.load(std::memory_order_seq_cst) != 0) return true;
    for (const WorkDeque& deque : deques_)
      if (!deque.looks_empty()) return true;
    return false;
  }

  // The worker searches; returns when there may be work, still searching. True: it has taken over the source.
  bool await_work(std::size_t worker) {
    // One that works alone has mostly nothing to wait for, and a small stream is over before it has asked.
    if (alone_ && told_.load(std::memory_order_relaxed) == 0) tell_where_it_may_run(worker);
    bool took_over = false;
    idle_s_[worker] += engine_.timed([&] {
      while (!took_over &&
             !pool::spin_until([&] { return work_left(); }, lingers_[worker].load(std::memory_order_relaxed)))
        took_over = sleep();
    });
    return took_over;
  }

  // Until woken. Who finds that the source is kept, and not watched, watches; true if it has taken it over.
  //
  // A kept source does not stay unwatched while anybody sleeps: who begins to keep it announces that as if it
  // were work, so somebody wakes and comes here, or, already on the way here, sees it. Who watched and found
  // work instead wakes another (end_search).
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
    // seq_cst: before the look of whoever goes to sleep, and publishes the watch.
    if (watches) is_watched_.store(false, std::memory_order_seq_cst);
    return took_over;
  }

  [[nodiscard]] bool is_unwatched() const {
    return !alone_ && engine_.gate().is_kept() && !is_watched_.load(std::memory_order_seq_cst);
  }

  static constexpr std::uint32_t everything = std::numeric_limits<std::uint32_t>::max();

  Engine& engine_;
  const bool source_blocking_;
  const bool alone_;  // nobody to share with, but perhaps somebody who gives tokens back
  const int burst_alone_;
  std::vector<Engine::Context*> contexts_;  // by worker, as all of these
  std::vector<WorkDeque, AlignedAllocator<WorkDeque>> deques_;
  std::vector<machine::CpuSet> allowed_;
  std::atomic<std::size_t> told_ = 0;
  std::vector<std::atomic<std::int64_t>> lingers_;  // ns; relaxed: a hint
  std::vector<double> idle_s_;
  IdleWorkers idle_;
  // Somebody watches the worker that keeps the source, and has watch_.
  std::atomic<bool> is_watched_ = false;
  KeeperWatch watch_;
  std::atomic<bool> is_started_ = false;  // the blocking source; relaxed: publishes nothing
  TokenQueue injected_;
  std::atomic<std::int64_t> injected_count_ = 0;
  std::atomic<bool> done_ = false;
  // Its threads use all of the above.
  BlockingLanes lanes_;
  Engine::Resumption resumption_;
};

}  // namespace

Result<double> run_stealing(Engine& engine, pool::Team& team, int threads) {
  StealingRun run(engine, static_cast<std::size_t>(threads));
  return run.run(team);
}

}  // namespace millrace::stream
