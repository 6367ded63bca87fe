// LiveView: lets other threads watch a run across its phases.
#pragma once

#include "millrace/base/error/clock.h"
#include "millrace/stream/engine/engine.h"
#include "millrace/stream/run/live_report.h"
#include "millrace/stream/run/run_report.h"

#include <cstdint>
#include <mutex>
#include <optional>

namespace millrace::stream {

// Reads the engine of the current phase directly. The counts of earlier engines were added up at the end of
// their phases. The mutex keeps an engine alive during a look. Of the run's threads, only the one that begins
// and ends phases takes it.
//
// Thread-safe. begin() and look() throw if memory runs out. The run may then go on unwatched.
class LiveView {
 public:
  explicit LiveView(const Program& program);

  // Registers the engine as running for the lifetime of this object. `view` may be null.
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
  // Guarded by the mutex:
  const Engine* engine_ = nullptr;
  std::int64_t ended_ns_ = 0;
  LiveReport past_;  // without the counts of the current phase
};

}  // namespace millrace::stream
