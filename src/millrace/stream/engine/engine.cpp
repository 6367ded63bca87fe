#include "millrace/stream/engine/engine.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace millrace::stream {
namespace {

// Returns the result of call(). An exception becomes the failure of the call, which then returns the default
// value.
//
// The value is returned instead of assigned inside `call` to a variable initialised with the default: the
// optimiser of GCC 12 assumes that the assignment happens even if the call throws, and drops the default.
template <class Call> std::invoke_result_t<const Call&> guarded(Emission& out, const Call& call) noexcept {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    out.fail("out of memory", std::current_exception());  // fits the string's internal buffer
  } catch (const std::exception& error) {
    out.fail(error.what(), std::current_exception());
  } catch (...) {
    out.fail("an exception of unknown type", std::current_exception());
  }
  return std::invoke_result_t<const Call&>();
}

// Maximum number of items between two clock reads in a phase with a time limit. A clock read costs as much as
// a small item or two.
constexpr double most_unwatched = 1024;

constexpr std::uint32_t end_of_stream = std::numeric_limits<std::uint32_t>::max();

// Outputs of a call go on in batches of this size, so that small ones need no bookkeeping.
std::size_t batch_bytes(std::size_t budget) {
  return std::clamp(budget / 8, std::size_t{64} << 10, std::size_t{1} << 20);
}
// So many batches of one call may be in flight, and more if an output is large.
constexpr std::uint64_t batches_in_flight = 4;
constexpr std::uint64_t least_in_flight = 64;

}  // namespace

Engine::Engine(const Program& program, const EngineLimits& limits, std::stop_token stop)
    : program_(&program), limits_(limits), stop_(std::move(stop)), start_ns_(now_ns()),
      store_(program.item_types()), gate_(limits.tokens, limits.byte_budget, limits.alone),
      waits_(program.waits() ? std::make_shared<Waits>(static_cast<Waits::Run&>(*this), program.stages.size(),
                                                       limits.trace != Trace::off)
                             : nullptr),
      stages_(program.stages.size()), on_stop_(stop_,
                                               [this] {
                                                 cut_.stop();
                                                 heed_cut();
                                               }),
      batch_(std::max<std::size_t>(batch_bytes(limits.byte_budget) / store_.token_bytes(), 1)),
      window_(std::max(batches_in_flight * batch_, least_in_flight)) {
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    const Stage& stage = program.stages[i];
    StageRun& run = stages_[i];
    run.stage = &stage;
    run.function = stage.function.get();
    run.kind = stage.kind;
    run.form = stage.form;
    run.maps = stage.form == StageForm::mapping || stage.form == StageForm::in_place ||
               stage.form == StageForm::sink;
    run.moves = stage.form == StageForm::in_place ? 0 : 1;
    run.blocking = stage.options.blocking;
    run.next = stage.next;
    run.ordinal = stage.ordinal;
    if (stage.in_order) {
      run.in_order.emplace(stage.ordinal, limits.tokens, limits.alone);
      ordered_.push_back(static_cast<std::uint32_t>(i));
    } else if (stage.kind == Kind::serial_as_they_come) {
      run.arrivals.emplace(limits.alone);
    }
    if (stage.options.limit > 0) run.limited.emplace(stage.options.limit, limits.alone);
    run.admits = run.in_order || run.arrivals || run.limited;
    run.keeps_turn = run.in_order && !run.limited;
  }
}

Engine::~Engine() = default;

Engine::Context& Engine::add_context() {
  const std::lock_guard lock(contexts_mutex_);
  return *contexts_.emplace_back(std::make_unique<Context>(*this, static_cast<int>(contexts_.size())));
}

Token* Engine::produce(Context& context) noexcept {
  if (context.keeps_source && !gate_.take_again()) {
    context.keeps_source = false;
    return nullptr;
  }
  Token* token = nullptr;
  try {
    token = context.tokens_.make();
  } catch (const std::bad_alloc&) {
    fail_source(out_of_memory(), context);
    return nullptr;
  }
  if (fill(*token, context)) return token;
  context.tokens_.recycle(token);
  return nullptr;
}

void Engine::fail_source(Error error, Context& context, std::exception_ptr thrown) noexcept {
  try {
    std::string where = fmt::format("source '{}' failed at item {}: ", program_->source_name,
                                    limits_.first_item + gate_.issued());
    cut_.make({gate_.issued()}, std::move(error), std::move(where), std::move(thrown));
  } catch (const std::bad_alloc&) {
    cut_.give_up();
  }
  heed_cut();
  context.keeps_source = false;
  context.drained |= gate_.end();
}

inline bool Engine::fill(Token& token, Context& context) {
  if (cut_.is_made()) {
    context.keeps_source = false;
    context.drained |= gate_.end();
    return false;
  }
  if (gate_.issued() >= look_at_ && is_phase_over()) [[unlikely]] {
    paused_ = true;
    context.keeps_source = false;
    context.drained |= gate_.end();
    return false;
  }
  // The keeper of the source has already checked.
  const bool kept = std::exchange(context.keeps_source, false);
  if (!kept && !gate_.may_issue()) {
    context.source_opened |= gate_.reopen();
    return false;
  }
  Emission& out = context.emission_;
  StageMeter& meter = context.source_meter();
  if (shut_since_ns_ != 0) meter.blocked_s += seconds(now_ns() - std::exchange(shut_since_ns_, 0));
  const std::int64_t begun = meter.begin();
  context.calls(0);
  const SourceFunction::Made made =
      guarded(out, [&] { return program_->source->next(stop_, token.item(), out); });
  context.calls(Context::nothing);
  if (begun != 0) context.note_event(0, gate_.issued(), begun, meter.end(begun));
  if (!made.item) {
    if (out.failed())
      fail_source(out.take_error(), context, out.take_exception());
    else
      context.drained |= gate_.end();
    return false;
  }
  token.bytes = made.bytes;
  token.index = gate_.issue(made.bytes);
  ++meter.items_in;
  context.keeps_source = context.burst > 1 && gate_.may_issue();
  if (context.keeps_source) {
    --context.burst;
    gate_.keep(!kept);
  } else {
    if (traced() && !gate_.may_issue()) shut_since_ns_ = now_ns();
    context.source_opened |= gate_.reopen();
  }
  return true;
}

bool Engine::is_phase_over() {
  const std::uint64_t issued = gate_.issued();
  if (issued >= limits_.most_items) return true;
  look_at_ = limits_.most_items;
  if (limits_.most_seconds == std::numeric_limits<double>::infinity()) return false;
  if (issued == 0) {
    look_at_ = 1;
    return false;
  }
  const double passed = seconds(now_ns() - start_ns_);
  if (passed >= limits_.most_seconds) return true;
  // Next check after half the predicted remaining items, but at most after as many as have passed, because
  // items may become slower.
  const double half =
      (limits_.most_seconds - passed) / 2 * static_cast<double>(issued) / std::max(passed, 1e-9);
  const double step = std::clamp(half, 1.0, std::min(static_cast<double>(issued), most_unwatched));
  look_at_ = std::min(limits_.most_items, issued + static_cast<std::uint64_t>(step));
  return false;
}

Token* Engine::step(Token* token, Context& context, std::uint32_t last) noexcept {
  Emission& out = context.emission_;
  const Context::Calls calls{context};
  std::uint32_t position = token->position;
  for (;;) {
    StageRun& run = stages_[position];
    if (run.admits && !token->admitted) {
      if (!admit(run, *token, context)) return nullptr;
      // Others were let in as well, and must not wait for this call.
      if (!context.ready.empty()) {
        token->admitted = true;
        return token;
      }
    }
    context.calls(static_cast<std::int32_t>(position) + 1);
    StageMeter& meter = context.meter(position);
    // The common case: one output for the next stage or, in a sink, none.
    bool plain = run.maps && !cut_.is_made() && token->waiting_since_ns == 0 && !meter.is_next_timed();
    if (plain) {
      ++meter.items_in;
      plain = guarded(out, [&] { return run.function->map(token->item(), token->other_area(), out); });
      if (!plain) {
        out.begin(*token, run.next);
        heed_failure(*run.stage, *token, context);
      }
    } else if (run.form == StageForm::waiting) {
      if (!await(run, *token, context)) return nullptr;
    } else if (gives_up(*token)) {
      discard_item(*run.stage, *token, context);
    } else {
      call(*run.stage, run, *token, context);
    }
    if (run.admits) leave(run, *token, context);

    std::uint32_t destination = run.next;
    if (!plain) {
      if (out.handed_on() != 0) {
        close_window(*token, context);
        return nullptr;
      }
      if (!out.children().empty()) {
        split(*token, context);
        return nullptr;
      }
      destination = out.count() == 0 ? end_of_stream : out.first_destination();
      if (!run.maps && destination < stages_.size()) ++context.meter(destination).arrived;
    }
    if (destination >= stages_.size()) {
      if (token->next_ordinal != program_->ordinals) pass_over(*token, program_->ordinals, context);
      // acquire: as in release(), of which this is a shortcut.
      const bool is_last_hold = token->holds.load(std::memory_order_acquire) == 1;
      if (!context.keeps_source || token->parent || !is_last_hold || !context.ready.empty() ||
          context.burst <= 1) {
        release(token, context);
        return nullptr;
      }
      if (!gate_.take_again()) {
        context.keeps_source = false;
        release(token, context);
        return nullptr;
      }
      gate_.replace(token->bytes);
      token->next_ordinal = 0;
      token->position = position = 0;
      if (!fill(*token, context)) {
        context.tokens_.recycle(token);
        return nullptr;
      }
      if (stages_.front().blocking) return token;
      continue;
    }
    token->half ^= run.moves;
    token->position = position = destination;
    const StageRun& next = stages_[position];
    if (token->next_ordinal != next.ordinal) pass_over(*token, next.ordinal, context);
    if (position > last || next.blocking || !context.ready.empty()) return token;
  }
}

inline bool Engine::admit(StageRun& run, Token& token, Context& context) {
  if (traced()) begin_wait(token);
  bool admitted = false;
  if (run.in_order)
    admitted = run.in_order->arrive(token, InOrderStage::Arrival::item) &&
               (run.keeps_turn || enter_in_turn(run, token, context));
  else
    admitted = run.arrivals ? run.arrivals->arrive(token) : run.limited->arrive(token);
  if (admitted) token.waiting_since_ns = 0;
  return admitted;
}

bool Engine::enter_in_turn(StageRun& run, Token& token, Context& context) {
  const auto release_hold = [&](Token* held) { release(held, context); };
  bool entered = false;
  for (Token* in_turn = &token; in_turn != nullptr;) {
    ++in_turn->next_ordinal;
    // Numbers retire after the turn has passed them, but without room the token is left to other threads.
    // relaxed: as in pass_over().
    in_turn->holds.fetch_add(1, std::memory_order_relaxed);
    Token* const held = in_turn;
    if (run.limited->arrive(*in_turn)) {
      if (in_turn == &token)
        entered = true;
      else
        become_ready(in_turn, context);
    }
    in_turn = run.in_order->advance(held->parent, held->index, release_hold);
    release(held, context);
  }
  return entered;
}

void Engine::call(const Stage& stage, StageRun& run, Token& token, Context& context) {
  Emission& out = context.emission_;
  out.begin(token, stage.next);
  StageMeter& meter = context.meter(token.position);
  ++meter.items_in;
  if (token.waiting_since_ns != 0) [[unlikely]]
    meter.parked_s += end_wait(token);
  const std::int64_t begun = meter.begin();
  guarded(out, [&] { stage.function->call(token.item(), out); });
  if (!out.failed() && out.handed_on() == 0 && !out.children().empty() && !prepare_split(token, run, out))
    out.fail(out_of_memory());
  if (begun != 0) {
    const std::int64_t ended = meter.end(begun + out.away_ns());
    run.stride.store(static_cast<std::uint32_t>(meter.stride()), std::memory_order_relaxed);
    context.note_event(static_cast<int>(token.position) + 1, source_index(token), begun, ended);
  }
  if (out.is_given_up()) {
    static_cast<void>(out.take_error());
    static_cast<void>(out.take_exception());
    out.discard();
  } else if (out.failed()) {
    heed_failure(stage, token, context);
  } else if (out.ends_stream()) {
    // Like a failure, published before the turn is passed on.
    end_stream(token);
  }
  meter.items_out += out.count() - out.handed_on();
}

bool Engine::await(StageRun& run, Token& token, Context& context) {
  const Stage& stage = *run.stage;
  if (token.outcome == Token::Outcome::none && gives_up(token)) {
    discard_item(stage, token, context);
    return true;
  }
  Emission& out = context.emission_;
  out.begin(token, stage.next);
  StageMeter& meter = context.meter(token.position);
  if (token.outcome == Token::Outcome::none) {
    ++meter.items_in;
    if (token.waiting_since_ns != 0) [[unlikely]]
      meter.parked_s += end_wait(token);
    // Keeps the wait alive until the call is settled, so that it cannot fail the item before.
    std::shared_ptr<Wait> wait;
    try {
      wait = std::make_shared<Wait>(waits_, token);
    } catch (const std::bad_alloc&) {
      stage.input.destroy(token.item());
      out.fail(out_of_memory());
      heed_failure(stage, token, context);
      return true;
    }
    const std::int64_t begun = meter.begin();
    guarded(out, [&] { stage.function->begin(token.item(), wait, out); });
    if (begun != 0) {
      const std::int64_t ended = meter.end(begun);
      run.stride.store(static_cast<std::uint32_t>(meter.stride()), std::memory_order_relaxed);
      context.note_event(static_cast<int>(token.position) + 1, source_index(token), begun, ended);
    }
    // The stage's turn or room is held until the wait is over.
    token.admitted = run.admits;
    if (!waits_->settle(*wait, out.failed())) return false;
    if (out.failed()) {
      if (std::exchange(token.outcome, Token::Outcome::none) == Token::Outcome::output)
        program_->stages[stage.next].input.destroy(token.other_area());
      heed_failure(stage, token, context);
      return true;
    }
  }
  switch (std::exchange(token.outcome, Token::Outcome::none)) {
  case Token::Outcome::output:
    static_cast<void>(out.place());  // the item is already in place
    out.commit();
    break;
  case Token::Outcome::failure:
    ++meter.failures;
    break;
  case Token::Outcome::nothing:
  case Token::Outcome::none:
    break;
  }
  meter.items_out += out.count();
  return true;
}

void Engine::fail_wait(const Token& token, Error error, std::exception_ptr thrown) noexcept {
  note_failure(stage_of(token), token, std::move(error), std::move(thrown));
}

inline bool Engine::gives_up(const Token& token) const noexcept {
  return cut_.is_made() && cut_.puts_behind(token);
}

inline void Engine::heed_cut() noexcept {
  if (waits_) waits_->sweep();
}

void Engine::heed_failure(const Stage& stage, Token& token, Context& context) {
  Emission& out = context.emission_;
  Error error = out.take_error();
  std::exception_ptr thrown = out.take_exception();
  out.discard();
  ++context.meter(token.position).failures;
  fail(stage, token, std::move(error), std::move(thrown));
}

void Engine::discard_item(const Stage& stage, Token& token, Context& context) {
  stage.input.destroy(token.item());
  ++context.meter(token.position).discarded;
  token.waiting_since_ns = 0;
  context.emission_.begin(token, stage.next);
}

void Engine::fail(const Stage& stage, const Token& token, Error error, std::exception_ptr thrown) noexcept {
  note_failure(stage, token, std::move(error), std::move(thrown));
  heed_cut();
}

void Engine::note_failure(const Stage& stage, const Token& token, Error error,
                          std::exception_ptr thrown) noexcept {
  try {
    SequenceNumber number = sequence_number(token);
    SequenceNumber in_stream = number;
    in_stream.front() += limits_.first_item;
    std::string where = fmt::format("stage '{}' failed at item {}: ", stage.name, to_string(in_stream));
    cut_.make(std::move(number), std::move(error), std::move(where), std::move(thrown));
  } catch (const std::bad_alloc&) {
    cut_.give_up();
  }
}

void Engine::end_stream(const Token& token) noexcept {
  try {
    cut_.make(sequence_number(token), std::nullopt);
  } catch (const std::bad_alloc&) {
    cut_.give_up();
  }
  heed_cut();
}

inline void Engine::leave(StageRun& run, Token& token, Context& context) {
  token.admitted = false;
  Token* enabled = nullptr;
  if (run.keeps_turn) {
    ++token.next_ordinal;
    enabled = run.in_order->advance(token.parent, token.index, [&](Token* held) { release(held, context); });
  } else {
    enabled = run.arrivals ? run.arrivals->leave() : run.limited->leave();
  }
  if (enabled) become_ready(enabled, context);
}

void Engine::take_turn(StageRun& run, Token* token, Context& context) {
  if (token && (run.keeps_turn || enter_in_turn(run, *token, context))) become_ready(token, context);
}

void Engine::become_ready(Token* token, Context& context) {
  token->admitted = true;
  context.ready.push_back(token);
}

void Engine::pass_over(Token& token, std::uint32_t ordinal, Context& context) {
  const auto release_hold = [&](Token* held) { release(held, context); };
  for (; token.next_ordinal < ordinal; ++token.next_ordinal) {
    StageRun& run = stages_[ordered_[token.next_ordinal]];
    // relaxed: the carrier's hold keeps this from being the last one, and the slot publishes it.
    token.holds.fetch_add(1, std::memory_order_relaxed);
    if (!run.in_order->arrive(token, InOrderStage::Arrival::absent)) continue;
    Token* const enabled = run.in_order->advance(token.parent, token.index, release_hold);
    release(&token, context);
    take_turn(run, enabled, context);
  }
}

bool Engine::prepare_split(Token& token, const StageRun& run, const Emission& out) const noexcept {
  // The turn of an in-order stage is passed on before the split.
  token.first_ordinal = token.next_ordinal + (run.keeps_turn ? 1 : 0);
  const std::uint32_t stages_ahead = program_->ordinals - token.first_ordinal;
  if (stages_ahead == 0) return true;
  try {
    token.slots = std::make_unique<Slot[]>(out.count() * stages_ahead);
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

// Bytes charged for the outputs of a call. Small amounts are free, because counting them would slow down
// every call.
std::size_t Engine::charge_of(const Token& token) const {
  constexpr std::size_t little = std::size_t{64} << 10;
  if (token.window) return 0;  // counted one by one
  const std::size_t bytes = token.children * store_.token_bytes();
  return bytes < little ? 0 : bytes;
}

void Engine::split(Token& token, Context& context) {
  TokenList children = std::move(context.emission_.children());
  const std::uint64_t count = context.emission_.count();
  const std::uint32_t stages_ahead = program_->ordinals - token.first_ordinal;
  token.children = count;
  if (const std::size_t bytes = charge_of(token); bytes != 0) gate_.charge(bytes);
  // relaxed: the carrier's own hold remains until the end of this function.
  token.holds.fetch_add(static_cast<std::uint32_t>(count) + stages_ahead, std::memory_order_relaxed);
  std::uint64_t index = 0;
  for (Token* child = children.front(); child; child = child->next) {
    child->parent = &token;
    child->index = index++;
    child->next_ordinal = token.next_ordinal;
    ++context.meter(child->position).arrived;
  }
  // From here on, all children except those held by this thread may go through stages and end. This thread
  // continues with them before the tokens whose turn now comes.
  TokenList ready = std::exchange(context.ready, {});
  const auto release_hold = [&](Token* held) { release(held, context); };
  for (std::uint32_t ordinal = token.first_ordinal; ordinal < program_->ordinals; ++ordinal) {
    StageRun& run = stages_[ordered_[ordinal]];
    if (!run.in_order->arrive(token, InOrderStage::Arrival::split)) continue;
    take_turn(run, run.in_order->advance_into(token, release_hold), context);
  }
  for (Token* child = children.front(); child; child = child->next)
    pass_over(*child, program_->ordinal_at(child->position), context);
  ready.append(std::move(children));
  context.ready.prepend(std::move(ready));
  release(&token, context);
}

void Engine::hand_on(Context& context) {
  Emission& out = context.emission_;
  Token& token = out.token();
  StageRun& run = stages_[token.position];
  // A call may never end by itself, so it is ended when its outputs are no longer wanted.
  Token& output = *out.children().front();
  output.parent = &token;
  output.index = token.window ? token.window->handed_on : 0;
  if (gives_up(output)) {
    out.give_up();
    throw std::runtime_error("the stream has ended before this output");
  }
  if (!token.window) open_window(token, run, context);
  // The items that the thread runs meanwhile must not go on with the source's next one.
  const bool kept = std::exchange(context.keeps_source, false);
  context.meter(token.position).items_out += batch_;
  pass_through_window(token, out.take_children(batch_), batch_, context);
  {
    Emission::Suspended suspended(out);
    const std::int64_t begun = traced() ? now_ns() : 0;
    context.helper->share(context);
    await_room(token, context);
    if (begun != 0) suspended.was_away(now_ns() - begun);
  }
  context.keeps_source = kept;
  context.calls(static_cast<std::int32_t>(token.position) + 1);
}

void Engine::open_window(Token& token, const StageRun& run, Context& context) {
  const std::uint32_t first = token.next_ordinal + (run.keeps_turn ? 1 : 0);
  const std::uint32_t stages_ahead = program_->ordinals - first;
  auto window = std::make_unique<OutputWindow>(window_);
  token.slots = std::make_unique<Slot[]>(window->places * stages_ahead);
  token.window = std::move(window);
  token.first_ordinal = first;
  token.children = Token::any_number;
  // relaxed: the carrier's own hold remains.
  token.holds.fetch_add(stages_ahead, std::memory_order_relaxed);
  for (std::uint32_t ordinal = first; ordinal < program_->ordinals; ++ordinal) {
    InOrderStage& stage = *stages_[ordered_[ordinal]].in_order;
    if (!stage.arrive(token, InOrderStage::Arrival::split)) continue;
    // There is no output yet, so the turn waits for the first.
    static_cast<void>(stage.advance_into(token, [&](Token* held) { release(held, context); }));
  }
}

void Engine::pass_through_window(Token& token, TokenList children, std::uint64_t count, Context& context) {
  OutputWindow& window = *token.window;
  gate_.charge(count * store_.token_bytes());
  // relaxed: the carrier's own hold remains, and the outputs are still in this thread's hands.
  token.holds.fetch_add(static_cast<std::uint32_t>(count), std::memory_order_relaxed);
  window.in_flight.fetch_add(count, std::memory_order_relaxed);
  for (Token* child = children.front(); child; child = child->next) {
    child->parent = &token;
    child->index = window.handed_on++;
    child->next_ordinal = token.first_ordinal;
    ++context.meter(child->position).arrived;
  }
  TokenList ready = std::exchange(context.ready, {});
  for (Token* child = children.front(); child; child = child->next)
    pass_over(*child, program_->ordinal_at(child->position), context);
  children.append(std::move(ready));
  context.ready.prepend(std::move(children));
}

void Engine::close_window(Token& token, Context& context) {
  Emission& out = context.emission_;
  if (const std::size_t count = out.kept(); count != 0)
    pass_through_window(token, out.take_children(count), count, context);
  const auto release_hold = [&](Token* held) { release(held, context); };
  for (std::uint32_t ordinal = token.first_ordinal; ordinal < program_->ordinals; ++ordinal) {
    StageRun& run = stages_[ordered_[ordinal]];
    if (!run.in_order->arrive_at_end(token)) continue;
    Token* const enabled = run.in_order->advance(token.parent, token.index, release_hold);
    release(&token, context);
    take_turn(run, enabled, context);
  }
  release(&token, context);
}

// If none of the call's outputs is in flight, one more batch may always go on. So the first item that has not
// ended is never held back.
inline bool Engine::has_room(const Token& token) const {
  // acquire: see OutputWindow.
  const std::uint64_t in_flight = token.window->in_flight.load(std::memory_order_acquire);
  return in_flight == 0 || (in_flight + batch_ <= window_ &&
                            gate_.bytes_in_flight() + batch_ * store_.token_bytes() <= limits_.byte_budget);
}

void Engine::await_room(Token& token, Context& context) {
  // Tokens become ready without a word to the calls that wait, because that would slow down those that do
  // not. So a call looks for them at this interval, and is told only of room.
  constexpr std::chrono::milliseconds interval{1};
  while (!has_room(token)) {
    if (Token* const other = context.helper->find(token)) {
      context.helper->run(other, context);
      continue;
    }
    std::unique_lock lock(room_mutex_);
    if (!has_room(token)) room_made_.wait_for(lock, interval);
  }
}

void Engine::release(Token* token, Context& context) {
  while (token) {
    // acquire and release: the thread that ends the token sees the writes of all its holders. A thread that
    // finds itself the last holder needs no write.
    if (token->holds.load(std::memory_order_acquire) != 1 &&
        token->holds.fetch_sub(1, std::memory_order_acq_rel) != 1)
      return;
    Token* const parent = token->parent;
    const std::size_t bytes = token->bytes;
    if (const std::size_t handed_on = charge_of(*token); handed_on != 0) gate_.give_back(handed_on);
    context.tokens_.recycle(token);
    if (!parent)
      retire(bytes, context);
    else if (parent->window) [[unlikely]]
      leave_window(*parent->window);
    token = parent;
  }
}

// The hold of the output keeps the window.
void Engine::leave_window(OutputWindow& window) {
  gate_.give_back(store_.token_bytes());
  const std::uint64_t left = window.in_flight.fetch_sub(1, std::memory_order_acq_rel) - 1;
  if (limits_.alone || left % batch_ != 0) return;
  // Not between the check and the wait of await_room().
  {
    const std::lock_guard lock(room_mutex_);
  }
  room_made_.notify_all();
}

inline void Engine::retire(std::size_t bytes, Context& context) {
  const SourceGate::Retired retired = gate_.retire(bytes);
  context.source_opened |= retired.opened;
  context.drained |= retired.drained;
}

void Engine::begin_wait(Token& token) const {
  // Waits are sampled as rarely and as regularly as calls: one source number in every `stride`.
  const std::uint32_t stride = stages_[token.position].stride.load(std::memory_order_relaxed);
  if (token.index % stride != 0) return;
  token.waits_weighed = stride;
  token.waiting_since_ns = now_ns();
}

double Engine::end_wait(Token& token) {
  if (token.waiting_since_ns == 0) return 0;
  return seconds(now_ns() - std::exchange(token.waiting_since_ns, 0)) * token.waits_weighed;
}

RunReport Engine::report() const {
  RunReport report;
  report.tokens = static_cast<int>(limits_.tokens);
  report.byte_budget = limits_.byte_budget;
  report.peak_bytes = gate_.peak_bytes();
  report.wall_s = seconds(now_ns() - start_ns_);
  report.stages.reserve(program_->stages.size() + 1);
  const std::lock_guard lock(contexts_mutex_);
  for (std::size_t i = 0; i <= program_->stages.size(); ++i) {
    StageMeter total;
    for (const auto& context : contexts_)
      total.merge(context->meters_[i]);
    StageReport stage;
    stage.name = i == 0 ? program_->source_name : program_->stages[i - 1].name;
    stage.kind = i == 0 ? "source" : kind_name(program_->stages[i - 1].kind);
    stage.blocking = i == 0 ? program_->source_blocking : program_->stages[i - 1].options.blocking;
    stage.items_in = total.items_in;
    const StageForm form = i == 0 ? StageForm::mapping : program_->stages[i - 1].form;
    const bool one_for_one = form == StageForm::mapping || form == StageForm::in_place;
    stage.items_out = one_for_one ? total.items_in - total.failures : total.items_out;
    stage.busy_s = total.busy_s;
    stage.starved_s = total.starved_s;
    stage.blocked_s = total.blocked_s;
    stage.parked_s = total.parked_s;
    stage.queued_s = total.queued_s;
    if (waits_ && i != 0) stage.waited_s = waits_->waited_s(i - 1);
    stage.queue_depth = (total.parked_s + total.queued_s) / std::max(report.wall_s, 1e-9);
    stage.service_s = total.service_s;
    report.stages.push_back(std::move(stage));
  }
  for (const auto& context : contexts_) {
    report.events.insert(report.events.end(), context->events_.begin(), context->events_.end());
    report.events_dropped += context->events_dropped_;
  }
  return report;
}

// Allocates no memory, because it must not fail at the end of a phase.
void Engine::look(LiveReport& report) const {
  for (LiveStage& stage : report.stages)
    stage.items_queued = 0;  // at first counts arrivals
  const std::lock_guard lock(contexts_mutex_);
  for (std::size_t i = 0; i < report.stages.size(); ++i) {
    std::uint64_t in = 0;
    std::uint64_t out = 0;
    std::uint64_t failures = 0;
    std::uint64_t discarded = 0;
    LiveStage& stage = report.stages[i];
    stage.calls = 0;
    for (const auto& context : contexts_) {
      const StageMeter& meter = context->meters_[i];
      in += meter.items_in;
      out += meter.items_out;
      failures += meter.failures;
      discarded += meter.discarded;
      stage.items_queued += meter.arrived;
      if (context->calls_.load(std::memory_order_relaxed) == static_cast<std::int32_t>(i)) ++stage.calls;
    }
    if (i == 0 || (stages_[i - 1].maps && stages_[i - 1].form != StageForm::sink)) {
      // Each returned call made one output for the next stage. The source's calls are counted after they
      // return.
      const std::uint64_t not_out = failures + static_cast<std::uint64_t>(i == 0 ? 0 : stage.calls);
      out = in - std::min(in, not_out);
      const std::size_t next = i == 0 ? 0 : stages_[i - 1].next;
      if (next < stages_.size()) report.stages[next + 1].items_queued += out;
    }
    stage.items_in += in;
    stage.items_out += out;
    stage.waiting = waits_ && i != 0 ? waits_->waiting(i - 1) : 0;
    if (i == 0) {
      report.items_made += in;
      // An item that ends between the two reads counts as in flight or as done.
      report.items_in_flight = std::min(gate_.items_in_flight(), in);
    } else {
      stage.items_queued -= std::min(stage.items_queued, in + discarded);
    }
  }
  report.bytes_in_flight = gate_.bytes_in_flight();
}

Engine::Context::Context(Engine& engine, int thread)
    : engine_(&engine), tokens_(engine.store_), emission_(*engine.program_, tokens_, *this, engine.batch_),
      meters_(engine.program_->stages.size() + 1), thread_(thread) {
  if (!engine.traced()) return;
  for (StageMeter& meter : meters_)
    meter.enable();
}

void Engine::Context::note_event(int stage, std::uint64_t item, std::int64_t begun_ns,
                                 std::int64_t ended_ns) {
  if (engine_->limits_.trace != Trace::events) return;
  if (events_.size() == most_events_a_thread) {
    ++events_dropped_;
    return;
  }
  try {
    events_.push_back({stage, thread_, engine_->limits_.first_item + item, begun_ns - engine_->start_ns_,
                       ended_ns - begun_ns});
  } catch (const std::bad_alloc&) {
    ++events_dropped_;
  }
}

}  // namespace millrace::stream
