// Overseer: watches a program's progress while it runs, and changes the plan that its threads follow.
#pragma once

#include "millrace/placement/apply/thread_register.h"
#include "millrace/placement/run/summary.h"
#include "millrace/placement/run/wake_ups.h"
#include "millrace/placement/trials/plan_trials.h"
#include "millrace/placement/trials/progress.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace millrace::placement {

// Call tick() when next_ns() has come. It never blocks. Not thread-safe.
class Overseer {
 public:
  // `threads` and `reports` (null: no reports) must outlive it. asked: the user wants the program judged by
  // its reports; otherwise another source is used if none come. followed: the plan behind the threads'
  // policy, if it is a plan.
  Overseer(ThreadRegister& threads, const ReportReader* reports, bool asked, const Plan& followed);

  // Tries plans from now on, beginning with `remembered`, if set, which is followed already. Without this
  // call the threads' policy stays as it is.
  void try_plans(const std::vector<Plan>& candidates, const TrialOptions& options,
                 std::optional<Plan> remembered);

  // Also judges single-threaded programs: one thread may be in the way of other programs.
  void judge_single_threads() { fewest_threads_ = 1; }

  // When tick() should be called next, on the clock of now_ns().
  [[nodiscard]] std::int64_t next_ns() const { return next_ns_; }
  void tick();
  // True if tick() should also be called as soon as the program has reported something. Programs report when
  // they like, and a report holds for that moment.
  [[nodiscard]] bool awaits_report() const { return awaits_report_; }
  // Run times of all threads, as last observed.
  [[nodiscard]] const RunTimes& times() const { return last_.times; }
  // Adds the results so far to the summary.
  void finish(Summary& summary) const;
  // True if nothing measures the program's progress, so that no plan is tried.
  [[nodiscard]] bool unjudged() const { return unjudged_; }

  static constexpr std::int64_t observation_ns = 100'000'000;

 private:
  struct Reading {
    std::int64_t time_ns = 0;
    RunTimes times;
    std::optional<double> total;
    std::int64_t total_ns = 0;  // the time at which the total held
  };

  [[nodiscard]] Reading read_progress();
  void choose_source(const Reading& now);
  void account(const Reading& now, bool changed);
  void look_at_wake_ups(const Reading& now);
  void end_look(const Reading& now);
  void begin_window(const Reading& now);
  [[nodiscard]] bool reported_since(const Reading& now, std::int64_t time_ns) const;
  void wait_for_report(const Reading& now);
  void settle(const Reading& now);
  void measure(const Reading& now);
  void end_window(const Reading& now, std::optional<double> rate);
  [[nodiscard]] std::optional<double> rate(const Reading& from, const Reading& to) const;

  ThreadRegister* threads_;
  const ReportReader* reports_;
  bool asked_;
  int fewest_threads_ = 2;  // a single thread gains nothing from a mask
  ByteCounter bytes_;
  InstructionCounters instructions_;
  std::optional<ProgressSource> source_;
  bool unjudged_ = false;  // nothing measures progress, so no plan is tried
  std::optional<Reading> first_;

  std::optional<PlanTrials> trials_;
  enum class Step { waiting, settling, measuring };
  Step step_ = Step::waiting;
  PlanTrials::Window window_;
  std::int64_t window_begun_ns_ = 0;
  Reading window_start_;  // where the measured part begins
  std::int64_t window_end_ns_ = 0;
  bool awaits_report_ = false;
  Plan followed_;

  Reading last_;
  std::int64_t last_migrations_ = 0;
  Phase untouched_;
  Phase changed_;
  std::optional<WakeUpLook> look_;
  std::optional<WakeUpTrace> trace_;
  std::int64_t look_begun_ns_ = 0;
  std::int64_t next_ns_ = 0;
};

}  // namespace millrace::placement
