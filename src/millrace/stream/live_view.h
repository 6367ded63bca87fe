// LiveView: a run as others see it while it goes on, phase after phase.
#pragma once

#include "millrace/base/clock.h"
#include "millrace/stream/engine/engine.h"
#include "millrace/stream/run/live_report.h"
#include "millrace/stream/run/run_report.h"

#include <cstdint>
#include <mutex>
#include <optional>

namespace millrace::stream {

// The engine of the phase under way is looked at directly; what engines counted that are gone was added up at
// the end of their phases. The mutex keeps an engine there while it is looked at; the threads of the run have
// nothing to do with it, but for the one that begins and ends phases.
//
// Thread-safe. Where there is no memory begin() and look() throw; the run may go on unseen.
class LiveView {
 public:
  explicit LiveView(const Program& program);

  // While it exists, the engine is what runs. `view` may be null.
  class Phase {
   public:
    Phase(LiveView* view, const Engine& engine, Strategy strategy, int threads) : view_(view) {
      if (view_) view_->begin(engine, strategy, threads);
    }
    ~Phase() {
      if (view_) view_->end();
    }
    Phase(const Phase&) = delete;
    Phase& operator=(const Phase&) = delete;

   private:
    LiveView* view_;
  };
  void decided(const PlanDecision& decision);
  void run_ended();

  [[nodiscard]] LiveReport look() const;

 private:
  void begin(const Engine& engine, Strategy strategy, int threads);
  void end();

  const std::int64_t begun_ns_ = now_ns();
  mutable std::mutex mutex_;
  // With the mutex held:
  const Engine* engine_ = nullptr;
  std::int64_t ended_ns_ = 0;
  LiveReport past_;  // without what the phase under way counts
};

}  // namespace millrace::stream
