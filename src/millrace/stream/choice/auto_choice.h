// AutoChoice: which plan the strategy `auto` runs a stream by, and for how many items before it looks again.
// Pure: it is told what each phase of the run measured and asked for the next. See README.md.
#pragma once

#include "millrace/base/result.h"
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

// What `auto` varies.
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
  int tokens = 0;   // as RunOptions::tokens: 0 leaves them free
  int queue_depth = 20;
};

// The pipeline of a traced run, for the models; nothing where the run had no item or does not look like a
// line of stages.
[[nodiscard]] std::optional<model::Pipeline> modelled(const RunReport& report);

// What share of the threads' time more tokens could have put to use: that in which threads had nothing to do
// while the source was shut, hence whatever was in flight was at work elsewhere or waited for its turn.
[[nodiscard]] double starved_for_tokens(const RunReport& phase);

class AutoChoice {
 public:
  struct Phase {
    AutoPlan plan;
    std::uint64_t items = 1;  // of the source; the run is looked at again after so many
    // Or after so long, with at least one item.
    double seconds = std::numeric_limits<double>::infinity();
  };

  explicit AutoChoice(const AutoLimits& limits);

  [[nodiscard]] Phase next() const;
  // What the phase that next() named came to, of which the run as a whole is `at_s` seconds old.
  void tell(const RunReport& phase, double at_s);
  // Instead of tell(): the phase could not begin, for this reason, and nothing was called. Returns false if
  // that was the plan in use, which nothing can replace then; otherwise that goes on, and no plan that takes
  // as much is tried again.
  [[nodiscard]] bool tell_refused(const Error& reason, double at_s);

  [[nodiscard]] const std::vector<PlanDecision>& decisions() const { return decisions_; }
  // Why the plan in use is in use, in a sentence.
  [[nodiscard]] std::string reason() const;

 private:
  // What was measured of a plan.
  struct Known {
    AutoPlan plan;
    double predicted = 0;  // seconds an item
    double measured = 0;
  };
  // What the phase that was looked at last says.
  struct Seen {
    model::Pipeline pipeline;
    model::OrderedTail tail;
    double item_s = 0;              // measured
    double item_with_tokens_s = 0;  // at least, with any number of tokens
    double work_s = 0;              // of an item, in all stages
  };
  // Phases of the incumbent and of the plan that is thought better, in turns.
  struct Trial {
    AutoPlan plan;
    // Of an item, where the two differ in tokens only: the same work then is the same time in the stages, and
    // phases whose items happen to be longer are made comparable by it. 0 where they differ in more.
    double work_s = 0;
    std::vector<double> incumbent;  // seconds an item
    std::vector<double> challenger;
    bool challengers_turn = true;
  };

  [[nodiscard]] AutoPlan trial_plan() const { return trial_->challengers_turn ? trial_->plan : incumbent_; }
  // From here on tokens have to be worth it.
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
  // Of a phase that is too short to tell more: that the plan on trial takes far longer than the one in use.
  [[nodiscard]] bool is_hopeless(const RunReport& phase) const;
  void end_trial(double measured);
  [[nodiscard]] bool worth_a_trial(const Seen& seen, const AutoPlan& plan, double seconds) const;
  void decide(PlanDecision::Kind kind, double at_s, const AutoPlan& plan, double item_s, double against_s);
  // The next phase is to last about so long.
  void last_for(double phase_s, double measured);

  AutoLimits limits_;
  AutoPlan incumbent_;
  bool begins_;  // no phase has been long enough to be looked at
  std::uint64_t items_;
  double phase_s_;
  double last_measured_ = 0;  // of the incumbent
  std::optional<Trial> trial_;
  std::vector<Known> known_;
  std::vector<AutoPlan> refused_;
  std::string refusal_;  // the last
  std::vector<PlanDecision> decisions_;
};

}  // namespace millrace::stream
