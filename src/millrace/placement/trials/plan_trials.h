// PlanTrials: chooses the plan that a running program follows next, judged by its own progress.
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
  double settle = 0.03;  // seconds at its start that are not measured
  RaceOptions race;
  double first_check = 5;   // seconds from taking a plan until it is checked again
  double last_check = 120;  // the longest interval between two checks; each interval is twice the one before
  double first_retry = 30;  // seconds after all candidates failed until they are tried again; also doubles
  std::uint64_t seed = 1;   // for the random order of windows
};

// One decision.
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
// A pair is a window of the untouched program and a window of a candidate, in random order. After each pair,
// PlanRace decides which candidate is next, taken or dropped. If no candidate helps, a plan is taken in at
// most a share of RaceOptions::false_gains of runs, however long they are. The plan in force is compared with
// the untouched program from time to time, and taken back if its mean gain is gone.
class PlanTrials {
 public:
  // `candidates`: in the order in which to try them; none may be `untouched`. remembered: the plan from an
  // earlier run, in force from the beginning. If it is the untouched plan, candidates are tried only after
  // first_retry.
  PlanTrials(const std::vector<Plan>& candidates, const TrialOptions& options,
             std::optional<Plan> remembered = {});

  struct Window {
    Plan plan;
    double seconds = 0;  // the whole window
    double settle = 0;   // of these, not measured at the beginning
  };
  // The plan to follow now, and for how long at least.
  [[nodiscard]] Window ask() const;
  // Reports that the window took `seconds`. rate: progress per second in its measured part; nothing if it is
  // not known, for example because the program was stopped. The pair is then repeated, and after several such
  // windows the trial is given up.
  void tell(std::optional<double> rate, double seconds);
  // Goes on to the next candidate, because this one would change nothing for the present threads.
  void skip();

  // The plan in force, apart from trials.
  [[nodiscard]] const Plan& plan() const { return current_; }
  [[nodiscard]] std::optional<GainEstimate> gain() const { return gain_; }
  // The plan that is being compared with the untouched program; null: none.
  [[nodiscard]] const Plan* trying() const { return pair_ ? &tried_plan() : nullptr; }
  // True if there was a result since the beginning: a plan was taken or taken back, or all candidates were
  // dropped.
  [[nodiscard]] bool concluded() const { return concluded_; }
  [[nodiscard]] const std::vector<TrialEvent>& events() const { return events_; }

 private:
  // Two windows to compare.
  struct Pair {
    std::optional<std::size_t> candidate;  // empty: a check of the plan in force
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
  int blind_windows_ = 0;             // consecutive
  std::vector<double> check_ratios_;  // of the current check of the plan in force
  double time_ = 0;
  double check_at_ = 0;
  double check_interval_ = 0;
  double retry_at_ = 0;
  double retry_interval_ = 0;
  bool concluded_ = false;
  std::vector<TrialEvent> events_;
};

}  // namespace millrace::placement
