// Engine: one run of a stream, as the strategies share it: what happens to a token at a stage and where it
// goes next. Who does it, on which thread and when, is the strategy.
//
// Where there is no memory: constructing an engine and adding contexts throws, as does report(); between them
// nothing does. A call that lacks memory fails its item, and where not even that can be noted the stream is
// given up, so that it drains and ends in every case.
#pragma once

#include "millrace/base/clock.h"
#include "millrace/base/result.h"
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
  // One thread does everything: no two steps at once, so no read-modify-writes are needed.
  bool alone = false;
  // The source's numbers in messages and events begin here: items that earlier phases have taken.
  std::uint64_t first_item = 0;
  // The source is left alone after so many items, as if it had ended; at least 1.
  std::uint64_t most_items = std::numeric_limits<std::uint64_t>::max();
  // Also after so long, with at least one item made. Nothing that is in flight then is cut short.
  double most_seconds = std::numeric_limits<double>::infinity();
};

class Engine final : private Waits::Run {
 public:
  // One thread's view of the run.
  class Context;

  Engine(const Program& program, const EngineLimits& limits, std::stop_token stop);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  // While it exists, tokens that have waited are given to `resume` (see Waits), by any thread. Declared in a
  // strategy behind all that `resume` touches.
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

  // For one more thread; valid as long as the engine. Thread-safe.
  [[nodiscard]] Context& add_context();

  // Calls the source, which the caller has taken from gate(), or keeps. Returns the token of the item; null
  // when the source has ended, may not be called just now, or was taken over by somebody else. Lets go of the
  // source unless context.burst is more than one: then, if another item may be issued at once,
  // context.keeps_source is set, and the source is kept for the caller.
  [[nodiscard]] Token* produce(Context& context) noexcept;
  // Ends the stream before the source's next item. The caller holds the source.
  void fail_source(Error error, Context& context, std::exception_ptr thrown = nullptr) noexcept;

  // Takes `token` through the stage it is at, and through those up to index `last` that come next, as long as
  // it has to wait for nothing and makes nothing else ready. Returns the token if it is to go on from there,
  // null if it was parked, waits, is gone, or was split. Never enters a blocking stage after another. Tokens
  // that can go on because of it are appended to context.ready: the first is the best to go on with.
  //
  // Where the item ends and the context keeps the source, the token goes on with the next item, as long as
  // context.burst is more than one.
  [[nodiscard]] Token* step(Token* token, Context& context, std::uint32_t last) noexcept;

  // What one call may hand on, however small the budget, so that what is small need not be thought about.
  static constexpr std::size_t least_handed_on = std::size_t{256} << 20;

  [[nodiscard]] SourceGate& gate() { return gate_; }
  [[nodiscard]] const Program& program() const { return *program_; }
  [[nodiscard]] const Stage& stage_of(const Token& token) const { return program_->stages[token.position]; }
  [[nodiscard]] bool traced() const { return limits_.trace != Trace::off; }

  // Notes the beginning of a wait of `token` before its stage, if waits there are to be timed now.
  void begin_wait(Token& token) const;
  // Seconds that the wait took, weighed for those not timed; 0 if it was not.
  [[nodiscard]] static double end_wait(Token& token);

  // Calls `wait` and returns the seconds it took; 0, without looking at the clock, when the run is not
  // traced.
  template <class Wait> double timed(const Wait& wait) const {
    const std::int64_t begun = traced() ? now_ns() : 0;
    wait();
    return traced() ? seconds(now_ns() - begun) : 0;
  }

  [[nodiscard]] int tokens() const { return static_cast<int>(limits_.tokens); }
  // Adds what this run has counted so far to `report`, and replaces what is true for the moment only. Any
  // thread, at any time. `report` has all stages.
  void look(LiveReport& report) const;

  // When all threads have ended: how the run ended, and the report without what only the strategy knows.
  [[nodiscard]] Status status() const { return cut_.status(); }
  // Whether the source may have more, and the stream goes on with that.
  [[nodiscard]] bool paused() const { return paused_ && !cut_.is_made(); }
  [[nodiscard]] std::uint64_t items() const { return gate_.issued(); }
  [[nodiscard]] Error cause() const { return cut_.cause(); }
  [[nodiscard]] std::exception_ptr exception() const { return cut_.exception(); }
  [[nodiscard]] RunReport report() const;

 private:
  // What a step needs of a stage, close together.
  struct StageRun {
    StageFunction* function = nullptr;
    Kind kind = Kind::parallel;
    bool admits = false;  // tokens enter one by one, or so many at once
    StageForm form = StageForm::emitting;
    bool maps = false;       // most calls are StageFunction::map()
    std::uint8_t moves = 1;  // the output is not where the item was
    bool blocking = false;
    std::uint32_t next = 0;
    std::uint32_t ordinal = 0;
    const Stage* stage = nullptr;
    std::optional<InOrderStage> in_order;
    std::optional<ArrivalStage> arrivals;
    std::optional<LimitedStage> limited;
    // The stride of those who time the stage's calls, for those who time waits for it. relaxed: a hint.
    std::atomic<std::uint32_t> stride = 1;
  };

  // Calls the source, which is held, for a token that has no item and one hold, and lets go of it or keeps
  // it, as produce() says; false when there is no item.
  [[nodiscard]] bool fill(Token& token, Context& context);
  // Whether the source is to be left alone now; if not, sets when that is asked again.
  [[nodiscard]] bool is_phase_over();
  // Whether `token` may enter now; if not, it has been parked.
  [[nodiscard]] bool admit(StageRun& run, Token& token) const;
  // Passes on the turn of a serial stage, or the room of a limited one.
  void leave(StageRun& run, Token& token, Context& context);
  void call(const Stage& stage, StageRun& run, Token& token, Context& context);
  // The part of a step that is the call, of a stage that waits: both the one that begins the wait, and the
  // one when it is over. False: the token waits, and may be gone.
  [[nodiscard]] bool await(StageRun& run, Token& token, Context& context);
  void fail_wait(const Token& token, Error error, std::exception_ptr thrown) noexcept override;
  [[nodiscard]] bool gives_up(const Token& token) const noexcept override;
  void heed_failure(const Stage& stage, Token& token, Context& context);
  void discard_item(const Stage& stage, Token& token, Context& context);
  void fail(const Stage& stage, const Token& token, Error error, std::exception_ptr thrown) noexcept;
  void note_failure(const Stage& stage, const Token& token, Error error, std::exception_ptr thrown) noexcept;
  // After every cut: what waits behind it is given up.
  void heed_cut() noexcept;
  void end_stream(const Token& token) noexcept;
  // The token will not be at the stages in order before `ordinal`, and at those from its next_ordinal to
  // there.
  void pass_over(Token& token, std::uint32_t ordinal, Context& context);
  void become_ready(Token* token, Context& context);
  // What split() needs when the call has returned; false when there is no memory for it.
  [[nodiscard]] bool prepare_split(Token& token, const StageRun& run, const Emission& out) const noexcept;
  [[nodiscard]] std::size_t charge_of(std::uint64_t outputs) const;
  void split(Token& token, Context& context);
  void release(Token* token, Context& context);
  void retire(std::size_t bytes, Context& context);

  const Program* program_;
  EngineLimits limits_;
  std::stop_token stop_;
  std::int64_t start_ns_;
  TokenStore store_;
  SourceGate gate_;
  // Of a traced run: when the source was left shut, 0 if it was not. The source's holder's.
  std::int64_t shut_since_ns_ = 0;
  bool paused_ = false;        // the source's holder's
  std::uint64_t look_at_ = 0;  // after so many items is_phase_over() is asked; the source's holder's
  Cut cut_;
  // Null where no stage waits.
  std::shared_ptr<Waits> waits_;
  std::vector<StageRun> stages_;
  std::vector<std::uint32_t> ordered_;  // index of the stage of each ordinal
  // Declared after what it touches; a stop during construction finds it all there.
  std::stop_callback<std::function<void()>> on_stop_;

  mutable std::mutex contexts_mutex_;  // of the list
  std::vector<std::unique_ptr<Context>> contexts_;
};

// On cache lines of its own, as all that a thread writes for each item.
class alignas(128) Engine::Context {
 public:
  Context(Engine& engine, int thread);
  static void* operator new(std::size_t bytes) { return new_aligned(bytes, alignof(Context)); }
  static void operator delete(void* memory) { delete_aligned(memory); }

  TokenList ready;
  // Set by step(), to be cleared by the strategy: the source, which had to wait, is open; the run is over.
  bool source_opened = false;
  bool drained = false;
  // More than one: the strategy would have the thread keep the source, and be asked again when the items have
  // counted this down to one.
  int burst = 1;
  // The source is kept for the thread.
  bool keeps_source = false;

  // Of the stage at `position`, and of the source.
  [[nodiscard]] StageMeter& meter(std::size_t position) { return meters_[position + 1]; }
  [[nodiscard]] StageMeter& source_meter() { return meters_[0]; }

 private:
  friend class Engine;

  // What the thread is calling: 0 the source, 1 the first stage.
  static constexpr std::int32_t nothing = -1;
  struct Calls {
    Context& context;
    ~Calls() { context.calls(nothing); }
  };
  // relaxed: for a look from outside, which learns nothing else by it.
  void calls(std::int32_t what) { calls_.store(what, std::memory_order_relaxed); }

  void note_event(int stage, std::uint64_t item, std::int64_t begun_ns, std::int64_t ended_ns);

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
