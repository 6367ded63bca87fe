// PlanTrials: which plan a running program follows next, judged by its own progress.
#pragma once

#include "millrace/placement/policy/plan.h"
#include "millrace/placement/trials/coin.h"
#include "millrace/placement/trials/paired_gain.h"
#include "millrace/placement/trials/plan_race.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace::placement {

struct TrialOptions {
  double window = 0.15;  // seconds of one window
  double settle = 0.03;  // at its beginning, not measured
  RaceOptions race;
  double first_check = 5;   // seconds after a plan was taken until it is looked at again
  double last_check = 120;  // the longest time between two looks; each is twice the one before
  double first_retry =
      30;                  // seconds after all candidates failed until they are tried again, likewise doubled
  std::uint64_t seed = 1;  // of the order of windows
};

// One thing that was decided.
struct TrialEvent {
  enum class Kind { started, taken, dropped, kept, taken_back };
  Kind kind = Kind::started;
  double time = 0;  // seconds since the first window
  Plan plan;
  GainEstimate gain;  // log ratio of the plan's rate to the untouched program's
  std::string reason;
};
// One line for a person: "at 3.2 s took class batch: +12.3 % (8.1 to 16.5, 9 pairs)".
[[nodiscard]] std::string to_string(const TrialEvent& event);

// Ask/tell: it reads no clock and changes nothing.
//
// Two windows, one of the untouched program and one of a candidate, in an order that a coin decides, are a
// pair; whose pair is next, who is taken and who is dropped, PlanRace says, after each pair: all candidates
// together are taken for nothing in a share of RaceOptions::false_gains of runs, however long they are. The
// plan in force is compared with the untouched program again from time to time and taken back when its mean
// gain is gone.
class PlanTrials {
 public:
  // `candidates`: in the order in which to try them; none is `untouched`. remembered: in force from the
  // beginning, on the word of an earlier run; where that found nothing better than untouched, candidates are
  // tried only after first_retry.
  PlanTrials(const std::vector<Plan>& candidates, const TrialOptions& options,
             std::optional<Plan> remembered = {});

  struct Window {
    Plan plan;
    double seconds = 0;  // all of it
    double settle = 0;   // of these, at the beginning, not to be measured
  };
  // What to follow now, and for how long at least.
  [[nodiscard]] Window ask() const;
  // The window has passed, and took so many seconds: progress for each second of its measured part; nothing
  // where that is not known (no progress at all, the program stopped): its pair is then repeated, and the
  // trial given up after several.
  void tell(std::optional<double> rate, double seconds);
  // What is being tried would change nothing for the threads there are: go on to the next.
  void skip();

  // In force, trials aside.
  [[nodiscard]] const Plan& plan() const { return current_; }
  [[nodiscard]] std::optional<GainEstimate> gain() const { return gain_; }
  // The plan that is compared with the untouched program now; null: none is.
  [[nodiscard]] const Plan* trying() const { return pair_ ? &tried_plan() : nullptr; }
  // Something was found out since the beginning: a plan was taken or taken back, or all candidates dropped.
  [[nodiscard]] bool concluded() const { return concluded_; }
  [[nodiscard]] const std::vector<TrialEvent>& events() const { return events_; }

 private:
  // Two windows that are compared.
  struct Pair {
    std::optional<std::size_t> candidate;  // nothing: the plan in force is looked at again
    bool plan_first = false;
    std::optional<double> first_rate;
  };

  void begin_pair(std::optional<std::size_t> candidate);
  void begin_next();
  void begin_trials_again();
  void pair_done(double log_ratio);
  void check_done();
  void drop(std::size_t candidate, const GainEstimate& gain, std::string reason);
  void schedule_check();
  [[nodiscard]] const Plan& tried_plan() const;

  PlanRace race_;
  TrialOptions options_;
  Coin coin_;
  Plan current_;
  std::optional<GainEstimate> gain_;
  std::optional<Pair> pair_;
  int blind_windows_ = 0;             // in a row
  std::vector<double> check_ratios_;  // of the look at the plan in force
  double time_ = 0;
  double check_at_ = 0;
  double check_interval_ = 0;
  double retry_at_ = 0;
  double retry_interval_ = 0;
  bool concluded_ = false;
  std::vector<TrialEvent> events_;
};

}  // namespace millrace::placement
