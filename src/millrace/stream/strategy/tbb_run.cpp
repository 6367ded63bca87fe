#include "millrace/stream/strategy/tbb_run.h"

#include "millrace/stream/item/out_of_memory.h"
#include "millrace/stream/item/token_queue.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/task_arena.h>

namespace millrace::stream {
namespace {

// A context for each thread of an arena. Each slot of an arena is used by one thread at a time.
class Contexts {
 public:
  Contexts(Engine& engine, int threads) {
    for (int i = 0; i < threads; ++i)
      contexts_.push_back(&engine.add_context());
  }
  void help_by(Engine::Helper& helper) {
    for (Engine::Context* context : contexts_)
      context->helper = &helper;
  }
  [[nodiscard]] Engine::Context& mine() {
    return *contexts_[static_cast<std::size_t>(tbb::this_task_arena::current_thread_index())];
  }

 private:
  std::vector<Engine::Context*> contexts_;
};

tbb::filter_mode mode_of(Kind kind) {
  switch (kind) {
  case Kind::parallel:
    return tbb::filter_mode::parallel;
  case Kind::serial_in_order:
    return tbb::filter_mode::serial_in_order;
  case Kind::serial_as_they_come:
    return tbb::filter_mode::serial_out_of_order;
  }
  return tbb::filter_mode::serial_in_order;
}

// Isolated: a stage that uses oneTBB itself must not be given another stage's call on the same context while
// it waits.
Token* step_isolated(Engine& engine, Token* token, Engine::Context& context) {
  return tbb::this_task_arena::isolate([&] { return engine.step(token, context, token->position); });
}

// Tokens travel unchanged; a token whose item has ended because of a cut becomes null. parallel_pipeline
// admits tokens to its serial filters in the order that the engine expects, so none is ever parked. Its limit
// on items in flight is at most the gate's. The byte budget corresponds to a number of items here, because
// all have the same size. So the source is always open when the first filter is called, unless it has ended.
void run_parallel_pipeline(Engine& engine, Contexts& contexts) {
  const std::uint64_t tokens = engine.gate().most_items_of(engine.program().stages.front().input.size);
  const auto step = [&](Token* token) -> Token* {
    return token ? step_isolated(engine, token, contexts.mine()) : nullptr;
  };
  tbb::filter<void, Token*> chain = tbb::make_filter<void, Token*>(
      tbb::filter_mode::serial_in_order, [&](tbb::flow_control& control) -> Token* {
        Token* token = nullptr;
        if (engine.gate().try_take()) token = engine.produce(contexts.mine());
        if (!token) control.stop();
        return token;
      });
  const auto& stages = engine.program().stages;
  for (std::size_t i = 0; i + 1 < stages.size(); ++i)
    chain = chain & tbb::make_filter<Token*, Token*>(mode_of(stages[i].kind), step);
  tbb::parallel_pipeline(
      tokens, chain & tbb::make_filter<Token*, void>(mode_of(stages.back().kind), [step](Token* token) {
                static_cast<void>(step(token));
              }));
}

std::size_t concurrency_of(const Stage& stage) {
  if (stage.kind != Kind::parallel) return tbb::flow::serial;
  if (stage.options.limit == 0) return tbb::flow::unlimited;
  return static_cast<std::size_t>(stage.options.limit);
}

// The tokens that wait for a node whose calls, or those of later nodes, may wait for room for their outputs.
// oneTBB cannot run one chosen task while another one waits. So the messages of the graph are tickets: a node
// that gets one takes a token from here. A call that waits takes the tokens that it needs, and leaves tickets
// without a token behind. Thread-safe.
class TicketedTokens {
 public:
  // True: the caller sends one more ticket, because there are more tokens than tickets.
  [[nodiscard]] bool push(Token* token) {
    const std::lock_guard lock(mutex_);
    tokens_.push_back(token);
    ++size_;
    if (tickets_ >= size_) return false;
    ++tickets_;
    return true;
  }
  // For the holder of a ticket. Null if there is no token for it any more.
  [[nodiscard]] Token* redeem() {
    const std::lock_guard lock(mutex_);
    --tickets_;
    Token* const token = tokens_.pop_front();
    if (token) --size_;
    return token;
  }
  template <class Matches> [[nodiscard]] Token* try_pop_if(const Matches& matches) {
    const std::lock_guard lock(mutex_);
    Token* const token = tokens_.pop_first(matches);
    if (token) --size_;
    return token;
  }

 private:
  std::mutex mutex_;
  // Guarded by the mutex:
  TokenList tokens_;
  std::size_t size_ = 0;
  std::size_t tickets_ = 0;
};

// One node per stage. The engine decides where a token goes next, so the graph has no edges.
//
// A token that waits for its continuation is in no node, so the graph can become idle before the run is over.
// Resumed tokens enter a queue. A thread that has left a node passes them to their nodes, and while the graph
// is idle, the thread that waits for it waits for them. The resuming threads cannot do this: if oneTBB is
// allowed only one thread, it does not wake up for them.
class GraphRun {
 public:
  GraphRun(Engine& engine, Contexts& contexts)
      : engine_(engine), contexts_(contexts), helper_(*this),
        tokens_(engine.program().makes_many() ? engine.program().stages.size() : 0),
        resumption_(engine, [this](Token* token) { resumed_.push_beyond(token); }) {
    for (const Stage& stage : engine.program().stages)
      nodes_.push_back(
          std::make_unique<Node>(graph_, concurrency_of(stage), [this, i = nodes_.size()](Token* token) {
            if (!token) token = tokens_[i].redeem();
            if (!token) return tbb::flow::continue_msg();
            Engine::Context& context = contexts_.mine();
            Token* const continued = step_isolated(engine_, token, context);
            route(continued, context);
            return tbb::flow::continue_msg();
          }));
    contexts.help_by(helper_);
  }

  // If the system refuses oneTBB a thread, an exception leaves node tasks behind. They must not run after
  // these members are destroyed.
  ~GraphRun() {
    try {
      graph_.cancel();
      graph_.wait_for_all();
    } catch (...) {
      // Already reported by run().
    }
  }
  GraphRun(const GraphRun&) = delete;
  GraphRun& operator=(const GraphRun&) = delete;

  void run() {
    source_.try_put({});
    graph_.wait_for_all();
    while (engine_.program().waits() && !is_over_.load(std::memory_order_relaxed)) {
      put(resumed_.pop());
      graph_.wait_for_all();
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  // A message is a token or, if there are TicketedTokens, null for a ticket.
  using Node = tbb::flow::function_node<Token*>;

  // What a thread does while its call waits for room. All its threads find the same tokens.
  class Helper final : public Engine::Helper {
   public:
    explicit Helper(GraphRun& run) : run_(&run) {}
    void share(Engine::Context& context) noexcept override { run_->route_for_call(nullptr, context); }
    [[nodiscard]] Token* find(const Token& call) noexcept override {
      const auto may_run = [&](const Token& token) { return is_before_or_below(token, call); };
      for (TicketedTokens& tokens : run_->tokens_)
        if (Token* const token = tokens.try_pop_if(may_run)) return token;
      return run_->resumed_.try_pop_if(may_run);
    }
    void run(Token* token, Engine::Context& context) noexcept override {
      run_->route_for_call(step_isolated(run_->engine_, token, context), context);
    }

   private:
    GraphRun* run_;
  };

  void put(Token* token) {
    const std::size_t stage = token->position;
    if (tokens_.empty())
      nodes_[stage]->try_put(token);
    else if (tokens_[stage].push(token))
      nodes_[stage]->try_put(nullptr);
  }

  // If oneTBB has no memory for a ticket, the run fails. Calls that wait find the tokens nevertheless.
  void route_for_call(Token* continued, Engine::Context& context) noexcept {
    try {
      route(continued, context);
    } catch (...) {
      if (!failed_.exchange(true, std::memory_order_relaxed)) failure_ = std::current_exception();
      graph_.cancel();
    }
  }

  void route(Token* continued, Engine::Context& context) {
    if (continued) put(continued);
    while (Token* const token = context.ready.pop_front())
      put(token);
    if (context.source_opened) {
      context.source_opened = false;
      source_.try_put({});
    }
    while (Token* const token = resumed_.try_pop())
      put(token);
    // relaxed: ordered by the wait for the graph.
    if (context.drained) is_over_.store(true, std::memory_order_relaxed);
  }

  Engine& engine_;
  Contexts& contexts_;
  Helper helper_;
  std::atomic<bool> is_over_ = false;
  // What a call that waits ran into. Read when the graph is idle.
  std::atomic<bool> failed_ = false;
  std::exception_ptr failure_;
  std::deque<TicketedTokens> tokens_;  // by stage; empty if no call waits for room
  TokenQueue resumed_;
  tbb::flow::graph graph_;
  std::vector<std::unique_ptr<Node>> nodes_;
  // Asks the source once per message. Each time the source is released open, another message is sent.
  tbb::flow::function_node<tbb::flow::continue_msg> source_{graph_, tbb::flow::serial,
                                                            [this](tbb::flow::continue_msg message) {
                                                              if (!engine_.gate().try_take()) return message;
                                                              Engine::Context& context = contexts_.mine();
                                                              Token* const token = engine_.produce(context);
                                                              route(token, context);
                                                              return message;
                                                            }};
  Engine::Resumption resumption_;
};

}  // namespace

bool fits_parallel_pipeline(const Program& program) {
  const auto limited = [](const Stage& stage) { return stage.options.limit > 0; };
  const auto varies = [](const Stage& stage) {
    return stage.form == StageForm::emitting || stage.form == StageForm::filtering;
  };
  return !program.source_sized && std::ranges::none_of(program.stages, limited) && !program.waits() &&
         std::ranges::none_of(program.stages, varies);
}

Status run_tbb(Engine& engine, int threads) {
  try {
    // Otherwise oneTBB limits threads to the number of processors and prints a warning.
    const tbb::global_control allowed(tbb::global_control::max_allowed_parallelism,
                                      static_cast<std::size_t>(threads));
    tbb::task_arena arena(threads);
    Contexts contexts(engine, threads);
    arena.execute([&] {
      if (fits_parallel_pipeline(engine.program()))
        run_parallel_pipeline(engine, contexts);
      else
        GraphRun(engine, contexts).run();
    });
  } catch (const std::bad_alloc&) {
    return std::unexpected(out_of_memory());
  } catch (const std::exception& error) {
    return failure("oneTBB failed: {}; use the strategy 'stealing'", error.what());
  }
  return {};
}

}  // namespace millrace::stream
