// PlanTrials: which plan a running program follows next, judged by its own progress.
#pragma once

#include "millrace/placement/policy/plan.h"
#include "millrace/placement/trials/gain_evidence.h"
#include "millrace/placement/trials/paired_gain.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace::placement {

struct TrialOptions {
  double window = 0.15;      // seconds of one window
  double settle = 0.03;      // at its beginning, not measured
  double least_gain = 0.01;  // log ratio of rates below which nothing is worth a change
  double clear_loss = 0.15;  // a first pair this much worse ends a trial
  double false_gains =
      0.01;                 // of programs to which no plan brings anything, the share that is given one ever
  int most_pairs = 32;      // after which it is undecided
  double first_check = 5;   // seconds after a plan was taken until it is looked at again
  double last_check = 120;  // the longest time between two looks; each is twice the one before
  double first_retry =
      30;  // seconds after all candidates failed until they are tried again, likewise doubled
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
// A trial takes turns of windows, untouched, candidate, candidate, untouched: a steady drift of the program's
// rate cancels out of each pair. A candidate is taken when the evidence for its gain (GainEvidence), gathered
// over all its trials and looked at after each pair, is such that all candidates together are taken for
// nothing in a share of false_gains of runs, however long they are; and its mean gain is above least_gain. It
// is dropped when the 90 % interval lies below least_gain, at once when the first pair shows a clear loss.
// The plan in force is compared with the untouched program again from time to time and taken back when its
// mean gain is gone.
class PlanTrials {
 public:
  // `candidates`: in the order in which to try them; none is `untouched`. remembered: in force from the
  // beginning, on the word of an earlier run; where that found nothing better than untouched, candidates are
  // tried only after first_retry.
  PlanTrials(std::vector<Plan> candidates, const TrialOptions& options, std::optional<Plan> remembered = {});

  struct Window {
    Plan plan;
    double seconds = 0;  // all of it
    double settle = 0;   // of these, at the beginning, not to be measured
  };
  // What to follow now, and for how long.
  [[nodiscard]] Window ask() const;
  // The window has passed: progress for each second of its measured part; nothing where that is not known (no
  // progress at all, the program stopped): the window is then repeated, and the trial given up after
  // several.
  void tell(std::optional<double> rate);
  // What is being tried would change nothing for the threads there are: go on to the next.
  void skip();

  // In force, trials aside.
  [[nodiscard]] const Plan& plan() const { return current_; }
  [[nodiscard]] std::optional<GainEstimate> gain() const { return gain_; }
  [[nodiscard]] bool trying() const { return trial_.has_value(); }
  // Something was found out since the beginning: a plan was taken or taken back, or all candidates dropped.
  [[nodiscard]] bool concluded() const { return concluded_; }
  [[nodiscard]] const std::vector<TrialEvent>& events() const { return events_; }

 private:
  struct Trial {
    std::size_t candidate = 0;
    bool check = false;  // of the plan in force
    int turn = 0;        // 0 to 3
    double untouched = 0;
    double tried = 0;
    int blind = 0;
    std::vector<double> log_ratios;
  };

  void begin_next();
  void decide();
  void decide_check(const GainEstimate& wide);
  void end_trial(TrialEvent::Kind kind, const GainEstimate& gain, std::string reason);
  void schedule_check();
  [[nodiscard]] const Plan& tried_plan() const;

  std::vector<Plan> candidates_;
  std::vector<GainEvidence> evidence_;  // of each candidate
  TrialOptions options_;
  Plan current_;
  std::optional<GainEstimate> gain_;
  std::optional<Trial> trial_;
  std::size_t next_ = 0;  // candidate
  double time_ = 0;
  double check_at_ = 0;
  double check_interval_ = 0;
  double retry_at_ = 0;
  double retry_interval_ = 0;
  bool concluded_ = false;
  std::vector<TrialEvent> events_;
};

}  // namespace millrace::placement
