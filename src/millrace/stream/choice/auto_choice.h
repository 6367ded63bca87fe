// AutoChoice: picks the plan for the strategy `auto` and the number of items before the next review. Pure: it
// takes the measurements of each phase and returns the next one. See README.md.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/model/pipeline/pipeline.h"
#include "millrace/model/prediction/ordered_tail.h"
#include "millrace/stream/run/run_options.h"
#include "millrace/stream/run/run_report.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace millrace::stream {

// The parameters that `auto` varies.
struct AutoPlan {
  Strategy strategy = Strategy::stealing;  // or collapsed
  int threads = 1;
  int tokens = 1;

  friend bool operator==(const AutoPlan&, const AutoPlan&) = default;
};

// "stealing, 2 threads, 32 tokens"
[[nodiscard]] std::string to_string(const AutoPlan& plan);

struct AutoLimits {
  int threads = 1;  // at most
  int tokens = 0;   // like RunOptions::tokens: 0 leaves the choice to `auto`
  int queue_depth = 20;
};

// The pipeline of a traced run, for the models. Empty if the run had no item or is not a line of stages.
[[nodiscard]] std::optional<model::Pipeline> modelled(const RunReport& report);

// The share of thread time that more tokens could have used: time in which threads were idle while the source
// was shut. All items in flight were then being processed elsewhere or waiting for their turn.
[[nodiscard]] double starved_for_tokens(const RunReport& phase);

class AutoChoice {
 public:
  struct Phase {
    AutoPlan plan;
    std::uint64_t items = 1;  // source items until the next review
    // Alternatively, review after this time, with at least one item.
    double seconds = std::numeric_limits<double>::infinity();
  };

  explicit AutoChoice(const AutoLimits& limits);

  [[nodiscard]] Phase next() const;
  // Reports the result of the phase that next() returned, when the whole run is `at_s` seconds old.
  void tell(const RunReport& phase, double at_s);
  // Called instead of tell(): the phase could not begin, for this reason, and no function was called. Returns
  // false if that was the plan in use, which cannot be replaced then. Otherwise the plan in use continues,
  // and no plan that needs as much is tried again.
  [[nodiscard]] bool tell_refused(const Error& reason, double at_s);

  [[nodiscard]] const std::vector<PlanDecision>& decisions() const { return decisions_; }
  // One sentence on why the current plan is in use.
  [[nodiscard]] std::string reason() const;

 private:
  // The measurements of a plan.
  struct Known {
    AutoPlan plan;
    double predicted = 0;  // seconds per item
    double measured = 0;
  };
  // Findings from the most recent phase.
  struct Seen {
    model::Pipeline pipeline;
    model::OrderedTail tail;
    double item_s = 0;              // measured
    double item_with_tokens_s = 0;  // lower bound for any number of tokens
    double work_s = 0;              // of an item, in all stages
  };
  // Alternating phases of the incumbent and the challenger.
  struct Trial {
    AutoPlan plan;
    // Work per item, if the two plans differ only in tokens. The same work then takes the same time in the
    // stages, so this normalises phases with longer items. 0 if they differ in more.
    double work_s = 0;
    std::vector<double> incumbent;  // seconds per item
    std::vector<double> challenger;
    bool challengers_turn = true;
  };

  [[nodiscard]] AutoPlan trial_plan() const { return trial_->challengers_turn ? trial_->plan : incumbent_; }
  // From now on, more tokens must pay for themselves.
  void settle(double measured);
  void tell_trial(const Seen& seen, double at_s);
  void look_for_better(const Seen& seen, double at_s);
  void remember(const AutoPlan& plan, double predicted, double measured);
  [[nodiscard]] std::vector<AutoPlan> candidates(const Seen& seen) const;
  [[nodiscard]] double predicted(const Seen& seen, const AutoPlan& plan) const;
  [[nodiscard]] double expected(const Seen& seen, const AutoPlan& plan) const;
  [[nodiscard]] double correction(const AutoPlan& plan) const;
  [[nodiscard]] std::optional<AutoPlan> with_more_tokens() const;
  [[nodiscard]] bool is_known(const AutoPlan& plan) const;
  [[nodiscard]] bool is_refused(const AutoPlan& plan) const;
  // Whether a phase that is too short to judge already shows that the challenger is far slower.
  [[nodiscard]] bool is_hopeless(const RunReport& phase) const;
  void end_trial(double measured);
  [[nodiscard]] bool worth_a_trial(const Seen& seen, const AutoPlan& plan, double seconds) const;
  void decide(PlanDecision::Kind kind, double at_s, const AutoPlan& plan, double item_s, double against_s);
  // Sets the approximate length of the next phase.
  void last_for(double phase_s, double measured);

  AutoLimits limits_;
  AutoPlan incumbent_;
  bool begins_;  // no phase has been long enough to review
  std::uint64_t items_;
  double phase_s_;
  double last_measured_ = 0;  // of the incumbent
  std::optional<Trial> trial_;
  std::vector<Known> known_;
  std::vector<AutoPlan> refused_;
  std::string refusal_;  // the most recent
  std::vector<PlanDecision> decisions_;
};

}  // namespace millrace::stream
