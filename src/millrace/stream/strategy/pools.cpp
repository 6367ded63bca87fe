#include "millrace/stream/strategy/pools.h"

#include "millrace/stream/item/token_list.h"
#include "millrace/stream/item/token_queue.h"

#include <cstddef>
#include <deque>
#include <latch>
#include <system_error>
#include <thread>
#include <utility>

namespace millrace::stream {
namespace {

// Tokens only move to later segments, because a stage enables tokens only for itself and later stages. The
// threads of the last segment never wait for room, so earlier ones always get some eventually.
class PoolsRun {
 public:
  PoolsRun(Engine& engine, const std::vector<Segment>& segments, int queue_depth)
      : engine_(engine), segments_(segments), segment_of_(engine.program().stages.size()),
        resumption_(engine, [this](Token* token) {
          // Return it to the segment whose thread began the wait. The resuming thread must not wait for room.
          // The tokens in flight bound the excess.
          queues_[segment_of_[token->position]].push_beyond(token);
        }) {
    for (std::size_t i = 0; i < segments.size(); ++i) {
      queues_.emplace_back(static_cast<std::size_t>(queue_depth));
      for (std::size_t stage = segments[i].first; stage <= segments[i].last; ++stage)
        segment_of_[stage] = i;
    }
  }
  ~PoolsRun() { end(); }
  PoolsRun(const PoolsRun&) = delete;
  PoolsRun& operator=(const PoolsRun&) = delete;

  [[nodiscard]] Status run() {
    try {
      for (std::size_t i = 0; i < segments_.size(); ++i)
        for (int thread = 0; thread < segments_[i].threads; ++thread)
          threads_.emplace_back([this, i, &context = engine_.add_context()] { serve(i, context); });
    } catch (const std::system_error& error) {
      return failure("cannot start thread {} of the stream: {}; use fewer threads or the strategy 'stealing'",
                     threads_.size() + 1, error.what());
    }
    serve_source(engine_.add_context());
    drained_.wait();
    return {};
  }

 private:
  void serve_source(Engine::Context& context) {
    SourceGate& gate = engine_.gate();
    while (!gate.has_ended()) {
      if (!gate.try_take()) {
        gate.await_change();
        continue;
      }
      Token* const token = engine_.produce(context);
      context.source_opened = false;  // opened by this thread, which needs no wake-up
      heed_flags(context);
      if (token) pass_on(token, context.source_meter());
    }
  }

  // The tokens of a thread that it has yet to step, and what it does with them while its call waits for room.
  class Stack final : public Engine::Helper {
   public:
    Stack(PoolsRun& run, std::size_t segment, StageMeter& meter)
        : run_(&run), segment_(segment), meter_(&meter) {}

    [[nodiscard]] Token* pop() { return tokens_.pop_front(); }
    void push(Token* token) { tokens_.push_front(token); }
    void push(TokenList&& tokens) { tokens_.prepend(std::move(tokens)); }

    void share(Engine::Context& context) noexcept override {
      run_->lift_capacities();
      while (Token* const token = context.ready.pop_front()) {
        if (run_->segment_of_[token->position] == segment_)
          mine_.push_back(token);
        else
          run_->pass_on(token, *meter_);
      }
      tokens_.prepend(std::move(mine_));
      run_->heed_flags(context);
    }
    [[nodiscard]] Token* find(const Token& call) noexcept override {
      const auto may_run = [&](const Token& token) { return is_before_or_below(token, call); };
      while (Token* const token = tokens_.pop_first(may_run)) {
        if (run_->segment_of_[token->position] == segment_) return token;
        run_->pass_on(token, *meter_);
      }
      return run_->queues_[segment_].try_pop_if(may_run);
    }
    void run(Token* token, Engine::Context& context) noexcept override {
      Token* const continued = run_->step(token, segment_, context);
      if (continued && continued->admitted) run_->share_all(segment_, context, *meter_);
      if (continued) context.ready.push_front(continued);
      share(context);
    }

   private:
    PoolsRun* run_;
    std::size_t segment_;
    StageMeter* meter_;
    TokenList tokens_;
    TokenList mine_;
  };

  Token* step(Token* token, std::size_t segment, Engine::Context& context) {
    return engine_.step(token, context, static_cast<std::uint32_t>(segments_[segment].last));
  }

  // A thread that waits for a queue could not run the tokens that calls wait for. When calls wait, the bounds
  // of tokens and bytes in flight must do.
  void lift_capacities() {
    if (lifted_.exchange(true, std::memory_order_relaxed)) return;
    for (TokenQueue& queue : queues_)
      queue.lift_capacity();
  }

  void serve(std::size_t segment, Engine::Context& context) {
    StageMeter& meter = context.meter(segments_[segment].first);
    Stack stack(*this, segment, meter);
    context.helper = &stack;
    for (;;) {
      Token* token = nullptr;
      meter.starved_s += engine_.timed([&] { token = queues_[segment].pop(); });
      if (!token) return;
      context.meter(token->position).queued_s += Engine::end_wait(*token);
      stack.push(token);
      // Depth first within the segment, so that early items leave early and few are in progress.
      while ((token = stack.pop()) != nullptr) {
        if (segment_of_[token->position] != segment) {
          pass_on(token, meter);
          continue;
        }
        Token* const continued = step(token, segment, context);
        if (continued && continued->admitted) share_all(segment, context, meter);
        stack.push(std::move(context.ready));
        if (continued) stack.push(continued);
        heed_flags(context);
      }
    }
  }

  void pass_on(Token* token, StageMeter& meter) {
    TokenQueue& queue = queues_[segment_of_[token->position]];
    if (engine_.traced()) engine_.begin_wait(*token);
    if (!queue.try_push(token)) meter.blocked_s += engine_.timed([&] { queue.push(token); });
  }

  // Gives the tokens that became ready to all threads of their segments. In the own segment, this thread
  // might be the only one to make room, so it does not wait for it.
  void share_all(std::size_t segment, Engine::Context& context, StageMeter& meter) {
    while (Token* const token = context.ready.pop_front()) {
      if (segment_of_[token->position] == segment)
        queues_[segment].push_beyond(token);
      else
        pass_on(token, meter);
    }
  }

  void heed_flags(Engine::Context& context) {
    if (context.source_opened) {
      context.source_opened = false;
      engine_.gate().wake_source();
    }
    // Several threads may find that the run is over.
    if (context.drained && !is_drained_.exchange(true, std::memory_order_acq_rel)) drained_.count_down();
    context.drained = false;
  }

  void end() {
    for (TokenQueue& queue : queues_)
      queue.close();
    for (std::thread& thread : threads_)
      thread.join();
  }

  Engine& engine_;
  const std::vector<Segment>& segments_;
  std::vector<std::size_t> segment_of_;  // by stage
  std::deque<TokenQueue> queues_;        // by segment
  std::atomic<bool> lifted_ = false;     // relaxed: publishes nothing
  std::atomic<bool> is_drained_ = false;
  std::latch drained_{1};
  std::vector<std::thread> threads_;
  Engine::Resumption resumption_;
};

}  // namespace

Status run_pools(Engine& engine, const std::vector<Segment>& segments, int queue_depth) {
  PoolsRun run(engine, segments, queue_depth);
  return run.run();
}

}  // namespace millrace::stream
