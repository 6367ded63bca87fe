// Engine: one run of a stream, independent of the strategy. It decides what happens to a token at a stage and
// what comes next. The strategy decides when, and on which thread.
//
// If memory runs out, constructing an engine, adding contexts and report() throw; nothing in between does. A
// call that lacks memory fails its item. If not even that can be recorded, the stream is given up, so it
// drains and ends in every case.
#pragma once

#include "millrace/base/error/clock.h"
#include "millrace/base/error/result.h"
#include "millrace/stream/engine/stage_meter.h"
#include "millrace/stream/item/aligned_memory.h"
#include "millrace/stream/item/token.h"
#include "millrace/stream/item/token_list.h"
#include "millrace/stream/item/token_store.h"
#include "millrace/stream/order/arrival_stage.h"
#include "millrace/stream/order/cut.h"
#include "millrace/stream/order/in_order_stage.h"
#include "millrace/stream/order/limited_stage.h"
#include "millrace/stream/order/source_gate.h"
#include "millrace/stream/program/emission.h"
#include "millrace/stream/program/program.h"
#include "millrace/stream/program/waits.h"
#include "millrace/stream/run/live_report.h"
#include "millrace/stream/run/run_report.h"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

namespace millrace::stream {

struct EngineLimits {
  std::uint64_t tokens = 1;
  std::size_t byte_budget = 0;
  Trace trace = Trace::off;
  // One thread does everything. Steps never overlap, so no read-modify-writes are needed.
  bool alone = false;
  // Number of the first source item in messages and events, after those of earlier phases.
  std::uint64_t first_item = 0;
  // The source is not called again after this many items, as if it had ended; at least 1.
  std::uint64_t most_items = std::numeric_limits<std::uint64_t>::max();
  // The same after this time, if at least one item was made. Items in flight are completed.
  double most_seconds = std::numeric_limits<double>::infinity();
};

class Engine final : private Waits::Run {
 public:
  // One thread's view of the run.
  class Context;

  // What a thread does while its call waits for room for more outputs. A strategy sets one for each context
  // that makes calls.
  //
  // The thread must be able to find every token that is in no other thread's hands and that comes before the
  // call's token or descends from it. Other tokens must not be run, or they would wait for the call.
  class Helper {
   public:
    // Takes over context.ready and heeds the context's flags. Does not wait.
    virtual void share(Context& context) noexcept = 0;
    // A token that is_before_or_below(token, call). Null if there is none now.
    [[nodiscard]] virtual Token* find(const Token& call) noexcept = 0;
    // Steps a found token, and shares it if it can go on.
    virtual void run(Token* token, Context& context) noexcept = 0;

   protected:
    Helper() = default;
    ~Helper() = default;
    Helper(const Helper&) = default;
    Helper& operator=(const Helper&) = default;
  };

  Engine(const Program& program, const EngineLimits& limits, std::stop_token stop);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  // For its lifetime, any thread may pass resumed tokens to `resume` (see Waits). A strategy declares it
  // after everything that `resume` touches.
  class Resumption {
   public:
    Resumption(Engine& engine, Waits::Resume resume) : waits_(engine.waits_.get()) {
      if (waits_) waits_->open(std::move(resume));
    }
    ~Resumption() {
      if (waits_) waits_->close();
    }
    Resumption(const Resumption&) = delete;
    Resumption& operator=(const Resumption&) = delete;

   private:
    Waits* waits_;
  };

  // For one more thread. Valid as long as the engine. Thread-safe.
  [[nodiscard]] Context& add_context();

  // Calls the source, which the caller has taken from gate() or keeps. Returns the token of the item. Returns
  // null if the source has ended, may not be called now, or was taken over by another thread. Releases the
  // source unless context.burst is more than one. Then, if another item may be issued at once, the source is
  // kept for the caller and context.keeps_source is set.
  [[nodiscard]] Token* produce(Context& context) noexcept;
  // Ends the stream before the source's next item. The caller holds the source.
  void fail_source(Error error, Context& context, std::exception_ptr thrown = nullptr) noexcept;

  // Takes `token` through its stage, and through the following stages up to index `last`, for as long as it
  // does not have to wait and makes no other token ready. Returns the token if it can go on. Returns null if
  // it was parked, waits, is gone, or was split. Never enters a blocking stage after another stage. Appends
  // tokens that became ready to context.ready, best candidate first. If Token::admitted is set in the
  // returned token, its stage has room for those at once.
  //
  // If the item ends, the context keeps the source, and context.burst is more than one, the token goes on
  // with the next item.
  [[nodiscard]] Token* step(Token* token, Context& context, std::uint32_t last) noexcept;

  [[nodiscard]] SourceGate& gate() { return gate_; }
  [[nodiscard]] const Program& program() const { return *program_; }
  [[nodiscard]] const Stage& stage_of(const Token& token) const { return program_->stages[token.position]; }
  [[nodiscard]] bool traced() const { return limits_.trace != Trace::off; }

  // Records the start of a wait of `token` before its stage, if waits there are to be timed now.
  void begin_wait(Token& token) const;
  // Seconds that the wait took, weighted to represent untimed waits. 0 if it was not timed.
  [[nodiscard]] static double end_wait(Token& token);

  // Calls `wait` and returns its duration in seconds. If the run is not traced, returns 0 without reading the
  // clock.
  template <class Wait> double timed(const Wait& wait) const {
    const std::int64_t begun = traced() ? now_ns() : 0;
    wait();
    return traced() ? seconds(now_ns() - begun) : 0;
  }

  [[nodiscard]] int tokens() const { return static_cast<int>(limits_.tokens); }
  // Adds the counts of this run so far to `report` and replaces its momentary values. Any thread may call it
  // at any time. `report` must have all stages.
  void look(LiveReport& report) const;

  // Valid after all threads have ended: the outcome, and the report without the strategy's own values.
  [[nodiscard]] Status status() const { return cut_.status(); }
  // Whether the phase hit a limit, so the source may have more items for the next phase.
  [[nodiscard]] bool paused() const { return paused_ && !cut_.is_made(); }
  [[nodiscard]] std::uint64_t items() const { return gate_.issued(); }
  [[nodiscard]] Error cause() const { return cut_.cause(); }
  [[nodiscard]] std::exception_ptr exception() const { return cut_.exception(); }
  [[nodiscard]] RunReport report() const;

 private:
  // The data of a stage that a step needs, close together.
  struct StageRun {
    StageFunction* function = nullptr;
    Kind kind = Kind::parallel;
    bool admits = false;  // tokens enter one at a time or under a limit
    // The turn of `in_order` stays with a token until its call has returned, instead of until it has entered.
    bool keeps_turn = false;
    StageForm form = StageForm::emitting;
    bool maps = false;       // most calls are StageFunction::map()
    std::uint8_t moves = 1;  // the output is in the other area than the item
    bool blocking = false;
    std::uint32_t next = 0;
    std::uint32_t ordinal = 0;
    const Stage* stage = nullptr;
    std::optional<InOrderStage> in_order;
    std::optional<ArrivalStage> arrivals;
    std::optional<LimitedStage> limited;
    // Sampling stride of the stage's calls, also used by threads that time waits for it. relaxed: a hint.
    std::atomic<std::uint32_t> stride = 1;
  };

  // Calls the held source to fill a token that has no item and one hold. Releases or keeps the source as
  // described at produce(). Returns false if there is no item.
  [[nodiscard]] bool fill(Token& token, Context& context);
  // Whether the phase has reached a limit, so the source must not be called again. If false, schedules the
  // next check.
  [[nodiscard]] bool is_phase_over();
  // Whether `token` may enter now. If not, it has been parked.
  [[nodiscard]] bool admit(StageRun& run, Token& token, Context& context);
  // The same for a token that has the turn of a stage that does not keep it. Passes on the turn.
  [[nodiscard]] bool enter_in_turn(StageRun& run, Token& token, Context& context);
  // The turn of the stage has come to `token`, which waited for it. May be null.
  void take_turn(StageRun& run, Token* token, Context& context);
  // Passes on the turn of a serial stage, or the room of a limited one.
  void leave(StageRun& run, Token& token, Context& context);
  void call(const Stage& stage, StageRun& run, Token& token, Context& context);
  // The call part of a step at a stage that waits. Runs twice: when the wait begins and when it is over.
  // False: the token waits, and may be gone.
  [[nodiscard]] bool await(StageRun& run, Token& token, Context& context);
  void fail_wait(const Token& token, Error error, std::exception_ptr thrown) noexcept override;
  [[nodiscard]] bool gives_up(const Token& token) const noexcept override;
  void heed_failure(const Stage& stage, Token& token, Context& context);
  void discard_item(const Stage& stage, Token& token, Context& context);
  void fail(const Stage& stage, const Token& token, Error error, std::exception_ptr thrown) noexcept;
  void note_failure(const Stage& stage, const Token& token, Error error, std::exception_ptr thrown) noexcept;
  // After every cut: gives up the waiting items after it.
  void heed_cut() noexcept;
  void end_stream(const Token& token) noexcept;
  // The token skips the in-order stages from its next_ordinal up to `ordinal`.
  void pass_over(Token& token, std::uint32_t ordinal, Context& context);
  void become_ready(Token* token, Context& context);
  // Allocates what split() needs after the call has returned. False if memory runs out.
  [[nodiscard]] bool prepare_split(Token& token, const StageRun& run, const Emission& out) const noexcept;
  [[nodiscard]] std::size_t charge_of(const Token& token) const;
  void split(Token& token, Context& context);
  // The outputs of a call that go on before it has returned. See README.md.
  void hand_on(Context& context);
  void open_window(Token& token, const StageRun& run, Context& context);
  void pass_through_window(Token& token, TokenList children, std::uint64_t count, Context& context);
  void close_window(Token& token, Context& context);
  [[nodiscard]] bool has_room(const Token& token) const;
  void await_room(Token& token, Context& context);
  void leave_window(OutputWindow& window);
  void release(Token* token, Context& context);
  void retire(std::size_t bytes, Context& context);

  const Program* program_;
  EngineLimits limits_;
  std::stop_token stop_;
  std::int64_t start_ns_;
  TokenStore store_;
  SourceGate gate_;
  // In a traced run: when the source was shut, 0 if it is not. Used by the source's holder only.
  std::int64_t shut_since_ns_ = 0;
  bool paused_ = false;  // used by the source's holder only
  std::uint64_t look_at_ =
      0;  // item count at which is_phase_over() is called next; used by the source's holder only
  Cut cut_;
  // Null if no stage waits.
  std::shared_ptr<Waits> waits_;
  std::vector<StageRun> stages_;
  std::vector<std::uint32_t> ordered_;  // index of the stage of each ordinal
  // Declared after the members it touches, which must exist if a stop comes during construction.
  std::stop_callback<std::function<void()>> on_stop_;

  // Outputs that a call may keep before some go on, and how many of them may be in flight.
  std::size_t batch_;
  std::uint64_t window_;
  std::mutex room_mutex_;
  std::condition_variable room_made_;

  mutable std::mutex contexts_mutex_;  // guards the list
  std::vector<std::unique_ptr<Context>> contexts_;
};

// On its own cache lines, like everything that a thread writes for each item.
class alignas(128) Engine::Context final : private Emission::Relay {
 public:
  Context(Engine& engine, int thread);
  static void* operator new(std::size_t bytes) { return new_aligned(bytes, alignof(Context)); }
  static void operator delete(void* memory) { delete_aligned(memory); }

  TokenList ready;
  // Set by step() and cleared by the strategy: the shut source has been opened; the run is over.
  bool source_opened = false;
  bool drained = false;
  // If more than one, the strategy wants the thread to keep the source until this many items, counted down to
  // one, have been made.
  int burst = 1;
  // The source is kept for the thread.
  bool keeps_source = false;
  // Valid while the thread makes calls; may be null.
  Helper* helper = nullptr;

  // The meters of the stage at `position` and of the source.
  [[nodiscard]] StageMeter& meter(std::size_t position) { return meters_[position + 1]; }
  [[nodiscard]] StageMeter& source_meter() { return meters_[0]; }

 private:
  friend class Engine;

  // The function that the thread is calling: 0 is the source, 1 the first stage.
  static constexpr std::int32_t nothing = -1;
  struct Calls {
    Context& context;
    ~Calls() { context.calls(nothing); }
  };
  // relaxed: read by outside observers, which rely on no other writes.
  void calls(std::int32_t what) { calls_.store(what, std::memory_order_relaxed); }

  void note_event(int stage, std::uint64_t item, std::int64_t begun_ns, std::int64_t ended_ns);
  void hand_on(Emission& /*emission*/) override { engine_->hand_on(*this); }

  Engine* engine_;
  TokenStore::Cache tokens_;
  Emission emission_;
  std::vector<StageMeter, AlignedAllocator<StageMeter>> meters_;
  std::vector<TraceEvent> events_;
  std::uint64_t events_dropped_ = 0;
  int thread_;
  std::atomic<std::int32_t> calls_ = nothing;
};

}  // namespace millrace::stream
