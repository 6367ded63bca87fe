// Overseer: watches a program's progress while it runs, and changes what its threads follow.
#pragma once

#include "millrace/placement/apply/thread_register.h"
#include "millrace/placement/run/summary.h"
#include "millrace/placement/trials/plan_trials.h"
#include "millrace/placement/trials/progress.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace millrace::placement {

// Called whenever next_ns() has come; never waits. Used by one thread.
class Overseer {
 public:
  // `threads` and `reports` (null: no reports) outlive it. followed: the plan that the threads' policy is,
  // where it is one.
  Overseer(ThreadRegister& threads, ReportReader* reports, const Plan& followed);

  // Tries plans from now on, beginning with `remembered` where there is one, which is followed already.
  // Without this the threads' policy stays what it is.
  void try_plans(std::vector<Plan> candidates, const TrialOptions& options, std::optional<Plan> remembered);

  // When it wants to be called next, on the clock of now_ns().
  [[nodiscard]] std::int64_t next_ns() const { return next_ns_; }
  void tick();
  // Reads the last of what there is, for the summary.
  void finish(Summary& summary);

  static constexpr std::int64_t observation_ns = 100'000'000;

 private:
  struct Reading {
    std::int64_t time_ns = 0;
    RunTimes times;
    std::optional<double> total;
  };

  [[nodiscard]] Reading read_progress();
  void choose_source(const Reading& now);
  void account(const Reading& now, bool changed);
  void begin_window();
  void end_window(const Reading& now);
  [[nodiscard]] std::optional<double> rate(const Reading& from, const Reading& to) const;

  ThreadRegister* threads_;
  ReportReader* reports_;
  ByteCounter bytes_;
  InstructionCounters instructions_;
  std::optional<ProgressSource> source_;
  bool unjudged_ = false;  // nothing tells of progress: nothing is tried
  std::optional<Reading> first_;

  std::optional<PlanTrials> trials_;
  enum class Step { waiting, settling, measuring };
  Step step_ = Step::waiting;
  PlanTrials::Window window_;
  Reading window_start_;
  std::int64_t window_end_ns_ = 0;
  Plan followed_;

  Reading last_;
  std::int64_t last_migrations_ = 0;
  Phase untouched_;
  Phase changed_;
  std::int64_t next_ns_ = 0;
};

}  // namespace millrace::placement
