#include "millrace/stream/strategy/blocking_lanes.h"

#include "millrace/stream/item/out_of_memory.h"

#include <new>
#include <system_error>
#include <utility>

namespace millrace::stream {

BlockingLanes::BlockingLanes(Engine& engine, Results results)
    : engine_(&engine), results_(std::move(results)) {
  lanes_.reserve(engine.program().stages.size());
  for (const Stage& stage : engine.program().stages) {
    auto& lane = lanes_.emplace_back();
    if (!stage.options.blocking) continue;
    lane = std::make_unique<Lane>();
    lane->most_threads =
        stage.kind == Kind::parallel ? static_cast<std::size_t>(stage.options.blocking_threads) : 1;
  }
}

BlockingLanes::~BlockingLanes() {
  if (source_.joinable()) source_.join();
  for (const auto& lane : lanes_) {
    if (!lane) continue;
    lane->queue.close();
    for (std::thread& thread : lane->threads)
      thread.join();
  }
}

Status BlockingLanes::start_source() noexcept {
  try {
    source_ = std::thread([this, &context = engine_->add_context()] { serve_source(context); });
  } catch (const std::bad_alloc&) {
    return std::unexpected(out_of_memory());
  } catch (const std::system_error& error) {
    return std::unexpected(error_from([&] {
      return Error{ErrorKind::failure,
                   fmt::format("cannot start its thread: {}; use fewer threads", error.what())};
    }));
  }
  return {};
}

void BlockingLanes::serve_source(Engine::Context& context) {
  SourceGate& gate = engine_->gate();
  while (!gate.has_ended()) {
    if (gate.try_take())
      results_(engine_->produce(context), context);
    else
      gate.await_change();
  }
}

bool BlockingLanes::staff(Lane& lane) noexcept {
  const std::lock_guard lock(lane.mutex);
  if (lane.threads.empty() || (lane.threads.size() < lane.most_threads && lane.queue.is_short_of_threads())) {
    try {
      if (!lane.next_context) lane.next_context = &engine_->add_context();
      lane.threads.emplace_back([this, &lane, &context = *lane.next_context] { serve(lane, context); });
      lane.next_context = nullptr;
    } catch (const std::bad_alloc&) {
      // Having fewer threads than allowed is not a failure,
    } catch (const std::system_error&) {
      // but having none is.
    }
  }
  return !lane.threads.empty();
}

bool BlockingLanes::take(Token* token) noexcept {
  Lane& lane = *lanes_[token->position];
  // Create a thread first: a token in a lane without threads would be lost.
  if (!staff(lane)) return false;
  lane.queue.push(token);
  static_cast<void>(staff(lane));
  return true;
}

// What a thread of a lane does while its call waits for room: only calls of its own stage.
class BlockingLanes::Helper final : public Engine::Helper {
 public:
  Helper(BlockingLanes& lanes, Lane& lane) : lanes_(&lanes), lane_(&lane) {}

  void share(Engine::Context& context) noexcept override { lanes_->results_(nullptr, context); }
  [[nodiscard]] Token* find(const Token& call) noexcept override {
    return lane_->queue.try_pop_if([&](const Token& token) { return is_before_or_below(token, call); });
  }
  void run(Token* token, Engine::Context& context) noexcept override {
    lanes_->results_(lanes_->engine_->step(token, context, token->position), context);
  }

 private:
  BlockingLanes* lanes_;
  Lane* lane_;
};

void BlockingLanes::serve(Lane& lane, Engine::Context& context) {
  Helper helper(*this, lane);
  context.helper = &helper;
  while (Token* const token = lane.queue.pop())
    results_(engine_->step(token, context, token->position), context);
}

}  // namespace millrace::stream
