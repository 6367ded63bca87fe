#include "millrace/stream/live_view.h"

#include <algorithm>

namespace millrace::stream {

LiveView::LiveView(const Program& program) {
  past_.stages.reserve(program.stages.size() + 1);
  past_.stages.push_back({.name = program.source_name, .kind = "source"});
  for (const Stage& stage : program.stages)
    past_.stages.push_back({.name = stage.name, .kind = kind_name(stage.kind)});
}

void LiveView::begin(const Engine& engine, Strategy strategy, int threads) {
  const std::lock_guard lock(mutex_);
  engine_ = &engine;
  past_.strategy = strategy;
  past_.threads = threads;
  past_.tokens = engine.tokens();
}

void LiveView::end() {
  const std::lock_guard lock(mutex_);
  engine_->look(past_);
  engine_ = nullptr;
  // Left over if the run was aborted.
  past_.items_in_flight = 0;
  past_.bytes_in_flight = 0;
  for (LiveStage& stage : past_.stages) {
    stage.calls = 0;
    stage.waiting = 0;
    stage.items_queued = 0;
  }
}

void LiveView::decided(const PlanDecision& decision) {
  const std::lock_guard lock(mutex_);
  past_.decision = decision;
}

void LiveView::run_ended() {
  const std::lock_guard lock(mutex_);
  past_.is_over = true;
  ended_ns_ = now_ns();
}

LiveReport LiveView::look() const {
  const std::lock_guard lock(mutex_);
  LiveReport report = past_;
  if (engine_) engine_->look(report);
  report.wall_s = seconds((report.is_over ? ended_ns_ : now_ns()) - begun_ns_);
  report.items_per_s = static_cast<double>(report.items_done()) / std::max(report.wall_s, 1e-9);
  return report;
}

}  // namespace millrace::stream
