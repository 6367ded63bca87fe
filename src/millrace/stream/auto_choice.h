// AutoChoice: which plan the strategy `auto` runs a stream by, and for how many items before it looks again.
// Pure: it is told what each phase of the run measured and asked for the next. See README.md.
#pragma once

#include "millrace/model/pipeline.h"
#include "millrace/stream/run_options.h"
#include "millrace/stream/run_report.h"

#include <cstdint>
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

// Seconds that the model says an item takes in the long run.
[[nodiscard]] double predicted_item_seconds(const model::Pipeline& pipeline, const AutoPlan& plan,
                                            int queue_depth);

class AutoChoice {
 public:
  struct Phase {
    AutoPlan plan;
    std::uint64_t items = 1;  // of the source; the run is looked at again after so many
  };

  explicit AutoChoice(const AutoLimits& limits);

  [[nodiscard]] Phase next() const { return {trial_ ? trial_plan() : incumbent_, items_}; }
  // What the phase that next() named came to, of which the run as a whole is `at_s` seconds old.
  void tell(const RunReport& phase, double at_s);

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
  // Phases of the incumbent and of the plan that the model prefers, in turns.
  struct Trial {
    AutoPlan plan;
    double expected = 0;
    std::vector<double> incumbent;  // seconds an item
    std::vector<double> challenger;
    bool challengers_turn = true;
  };

  [[nodiscard]] AutoPlan trial_plan() const { return trial_->challengers_turn ? trial_->plan : incumbent_; }
  void tell_trial(double measured, double at_s);
  void look_for_better(const model::Pipeline& pipeline, double measured, double at_s);
  void remember(const AutoPlan& plan, double predicted, double measured);
  [[nodiscard]] std::vector<AutoPlan> candidates(const model::Pipeline& pipeline) const;
  [[nodiscard]] double expected(const model::Pipeline& pipeline, const AutoPlan& plan) const;
  void decide(PlanDecision::Kind kind, double at_s, const AutoPlan& plan, double item_s, double against_s);
  // The next phase is to last about so long.
  void last_for(double phase_s, double measured);

  AutoLimits limits_;
  AutoPlan incumbent_;
  std::uint64_t items_;
  double phase_s_;
  double last_measured_ = 0;  // of the incumbent
  std::optional<Trial> trial_;
  std::vector<Known> known_;
  std::vector<PlanDecision> decisions_;
};

}  // namespace millrace::stream
